#include "data/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

// What people take for texts that are only packed; spreadsheets are zip archives too.
constexpr auto kArchives = std::to_array<std::pair<std::string_view, std::string_view>>({{"PK\x03\x04", "zip"},
                                                                                         {"\xFD"
                                                                                          "7zXZ",
                                                                                          "xz"},
                                                                                         {"BZh91AY", "bzip2"}});
constexpr std::size_t kLongestMagic = 7;

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteSource> source, std::size_t max_bytes)
    : source_(std::move(source)), max_bytes_(max_bytes), buffer_(kPiece) {}

// Reads some more behind what is there; what lies before the line may be dropped, and the line move.
bool LineReader::fill() {
  if (filled_ == buffer_.size() && begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
    next_ -= begin_;
    first_next_ -= std::min(first_next_, begin_);
    filled_ -= begin_;
    begin_ = 0;
  }
  if (filled_ == buffer_.size()) buffer_.resize(std::min(buffer_.size() * 2, max_bytes_ + kPiece));
  const std::size_t count = source_->read(std::span(buffer_).subspan(filled_));
  filled_ += count;
  return count > 0;
}

// The place of the line end that follows, or the end of the file; kNowhere if the line is too long.
std::size_t LineReader::find_end(std::size_t from) {
  std::size_t searched = from - begin_;
  while (true) {
    if (const void* end = std::memchr(buffer_.data() + begin_ + searched, '\n', filled_ - begin_ - searched)) {
      const auto place = static_cast<std::size_t>(static_cast<const char*>(end) - buffer_.data());
      return place - begin_ > max_bytes_ ? kNowhere : place;
    }
    searched = filled_ - begin_;
    if (searched > max_bytes_) return kNowhere;
    if (!fill()) return filled_;
  }
}

void LineReader::end_at(std::size_t end) {
  next_ = std::min(end + 1, filled_);
  size_ = end - begin_;
  if (size_ > 0 && buffer_[end - 1] == '\r') --size_;
}

void LineReader::pass_over_rest() {
  too_long_ = true;
  size_ = 0;
  while (true) {
    if (const void* end = std::memchr(buffer_.data() + begin_, '\n', filled_ - begin_)) {
      begin_ = next_ = static_cast<std::size_t>(static_cast<const char*>(end) - buffer_.data()) + 1;
      return;
    }
    begin_ = next_ = filled_;
    if (!fill()) return;
  }
}

bool LineReader::next() {
  begin_ = next_;
  size_ = 0;
  too_long_ = false;
  if (number_ == 0) {
    while (filled_ < kLongestMagic && fill()) {
    }
    const std::string_view first(buffer_.data(), filled_);
    if (first.starts_with("\xFF\xFE") || first.starts_with("\xFE\xFF")) {
      throw Error(source_->name() + ": is UTF-16; save it as UTF-8");
    }
    for (const auto& [magic, kind] : kArchives) {
      if (first.starts_with(magic)) {
        throw Error(fmt::format("{}: is an archive ({}); unpack it (only .gz and .zst are read as they are)",
                                source_->name(), kind));
      }
    }
    if (first.starts_with("\xEF\xBB\xBF")) begin_ = next_ = 3;
    number_ = 1;
  } else {
    number_ += num_lines_;
  }
  num_lines_ = 1;
  if (begin_ == filled_ && !fill()) return false;
  const std::size_t end = find_end(begin_);
  if (end == kNowhere) {
    pass_over_rest();
  } else {
    end_at(end);
  }
  first_next_ = next_;
  return true;
}

bool LineReader::extend() {
  // Of the bytes that a line end would follow none is there.
  if (next_ == filled_ && !fill()) return false;
  const std::size_t end = find_end(next_);
  if (end == kNowhere) return false;
  end_at(end);
  ++num_lines_;
  return true;
}

void LineReader::retract() {
  next_ = first_next_;
  const bool has_end = next_ > begin_ && buffer_[next_ - 1] == '\n';
  end_at(has_end ? next_ - 1 : next_);
  num_lines_ = 1;
}

}  // namespace semfuse
