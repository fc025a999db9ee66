#include "data/packed_bytes.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>
#include <vector>

#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kPackedPiece = std::size_t{64} << 10;

bool starts_with(std::span<const char> bytes, std::string_view magic) {
  return std::string_view(bytes.data(), bytes.size()).starts_with(magic);
}

bool is_gzip(std::span<const char> bytes) {
  return starts_with(bytes, "\x1f\x8b");
}

// A frame, or one that decoders pass over.
bool is_zstd(std::span<const char> bytes) {
  if (starts_with(bytes, "\x28\xb5\x2f\xfd")) return true;
  return bytes.size() >= 4 && (static_cast<unsigned char>(bytes[0]) & 0xF0U) == 0x50 &&
         starts_with(bytes.subspan(1), "\x2a\x4d\x18");
}

// What both formats share: packed bytes come in pieces, and what comes out is counted.
class UnpackedBytes : public ByteSource {
 public:
  UnpackedBytes(std::unique_ptr<ByteSource> packed, UnpackLimit limit)
      : ByteSource(packed->name()), packed_(std::move(packed)), limit_(limit) {}

  std::uint64_t consumed() const override { return packed_->consumed(); }

  std::size_t read(std::span<char> bytes) final {
    while (true) {
      if (input_.empty()) input_ = std::span(piece_).first(packed_->read(piece_));
      const bool at_end = input_.empty();
      if (at_end && between_members_) return 0;
      const std::size_t count = unpack(bytes, at_end);
      written_ += count;
      if (written_ > limit_.grace && (written_ - limit_.grace) / limit_.ratio > packed_->consumed()) {
        throw Error(fmt::format(
            "{}: unpacks to more than {} times its size, as an archive made to fill a disk does; unpack it yourself if "
            "you trust it",
            name(), limit_.ratio));
      }
      if (count > 0) return count;
      if (at_end && !between_members_) {
        throw Error(fmt::format("{}: ends in the middle of the archive; copy or download it again", name()));
      }
    }
  }

 protected:
  // Unpacks from input_ into `bytes` and returns how many came out, maybe none. At the end of the file input_ is empty,
  // and what is still held back can come out.
  virtual std::size_t unpack(std::span<char> bytes, bool at_end) = 0;

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("{}: {}; copy or download it again", name(), what));
  }

  std::span<char> input_;         // What was read and not yet unpacked.
  bool between_members_ = false;  // Here the file may end.

 private:
  std::unique_ptr<ByteSource> packed_;
  UnpackLimit limit_;
  std::vector<char> piece_ = std::vector<char>(kPackedPiece);
  std::uint64_t written_ = 0;
};

class GzipBytes : public UnpackedBytes {
 public:
  GzipBytes(std::unique_ptr<ByteSource> packed, UnpackLimit limit) : UnpackedBytes(std::move(packed), limit) {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipBytes() override { inflateEnd(&stream_); }

 private:
  std::size_t unpack(std::span<char> bytes, bool) override {
    if (between_members_) {
      if (input_[0] != '\x1f') fail("has other bytes behind the end of the archive");
      inflateReset(&stream_);
      between_members_ = false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
    stream_.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_out = static_cast<uInt>(std::min(bytes.size(), kPackedPiece * 16));
    const std::size_t room = stream_.avail_out;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    input_ = input_.last(stream_.avail_in);
    if (code == Z_STREAM_END) {
      between_members_ = true;
    } else if (code == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      fail("is a damaged gzip archive");
    }
    return room - stream_.avail_out;
  }

  z_stream stream_{};
};

class ZstdBytes : public UnpackedBytes {
 public:
  ZstdBytes(std::unique_ptr<ByteSource> packed, UnpackLimit limit)
      : UnpackedBytes(std::move(packed), limit), stream_(ZSTD_createDStream()) {
    if (!stream_) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kLargestWindow);
  }

 private:
  static constexpr int kLargestWindow = 27;  // 128 MiB, what the zstd program itself accepts.

  std::size_t unpack(std::span<char> bytes, bool) override {
    ZSTD_inBuffer in{input_.data(), input_.size(), 0};
    ZSTD_outBuffer out{bytes.data(), bytes.size(), 0};
    const std::size_t code = ZSTD_decompressStream(stream_.get(), &out, &in);
    if (ZSTD_isError(code)) fail(fmt::format("is a damaged zstd archive ({})", ZSTD_getErrorName(code)));
    input_ = input_.subspan(in.pos);
    between_members_ = code == 0;
    return out.pos;
  }

  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_;
};

}  // namespace

Packing packing_of(std::span<const char> first_bytes) {
  return is_gzip(first_bytes) ? Packing::gzip : is_zstd(first_bytes) ? Packing::zstd : Packing::none;
}

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> packed, Packing packing, UnpackLimit limit) {
  if (packing == Packing::gzip) return std::make_unique<GzipBytes>(std::move(packed), limit);
  if (packing == Packing::zstd) return std::make_unique<ZstdBytes>(std::move(packed), limit);
  return packed;
}

}  // namespace semfuse
