#include "data/byte_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "semfuse/error.h"
#include "support/packed.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

std::string all_of(ByteSource& source, std::size_t piece = 7) {
  std::string text;
  std::vector<char> bytes(piece);
  while (const std::size_t count = source.read(bytes)) text.append(bytes.data(), count);
  EXPECT_EQ(source.read(bytes), 0U);  // The end stays the end.
  return text;
}

std::string unpacked(const std::string& bytes, std::size_t piece = 7) {
  return all_of(*unpacked_bytes(bytes, "memory"), piece);
}

template <typename Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string long_text() {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "line " + std::to_string(i * 7919 % 10007) + "\n";
  return text;
}

TEST(ByteSource, UnpacksWhatThereIs) {
  const std::string text = long_text();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
    const std::string part = piece == 1 ? text.substr(0, 5000) : text;
    EXPECT_EQ(unpacked(part, piece), part);
    EXPECT_EQ(unpacked(gzipped(part), piece), part);
    EXPECT_EQ(unpacked(zstd_packed(part), piece), part);
  }
  EXPECT_EQ(unpacked(""), "");
  EXPECT_EQ(unpacked("a"), "a");
  EXPECT_EQ(unpacked(gzipped("")), "");
  EXPECT_EQ(unpacked(zstd_packed("")), "");
}

TEST(ByteSource, ReadsSeveralMembersEndToEnd) {
  EXPECT_EQ(unpacked(gzipped("one ") + gzipped("") + gzipped("two")), "one two");
  EXPECT_EQ(unpacked(zstd_packed("one ") + zstd_packed("") + zstd_packed("two")), "one two");
  EXPECT_EQ(unpacked(std::string("\x50\x2a\x4d\x18\x03\0\0\0abc", 11) + zstd_packed("two")), "two");
}

TEST(ByteSource, RefusesArchivesThatBreakOff) {
  for (const std::string& packed : {gzipped(long_text()), zstd_packed(long_text())}) {
    for (const std::size_t size : {packed.size() - 1, packed.size() / 2, std::size_t{5}}) {
      EXPECT_THAT(error_of([&] { unpacked(packed.substr(0, size), 4096); }), HasSubstr("ends in the middle")) << size;
    }
  }
}

TEST(ByteSource, RefusesDamagedArchives) {
  std::string packed = gzipped(long_text());
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  EXPECT_THAT(error_of([&] { unpacked(packed); }), HasSubstr("damaged gzip archive"));
  EXPECT_THAT(error_of([] { unpacked(gzipped("a") + "junk"); }), HasSubstr("other bytes behind the end"));
  EXPECT_THAT(error_of([] { unpacked(zstd_packed("a") + "junk"); }), HasSubstr("damaged zstd archive"));
}

TEST(ByteSource, StopsArchivesMadeToFillADisk) {
  const std::string zeros(std::size_t{8} << 20, '\0');
  for (const std::string& packed : {gzipped(zeros), zstd_packed(zeros)}) {
    const auto read = [&packed](UnpackLimit limit) {
      std::vector<char> bytes(65536);
      const auto source = unpacked_bytes(packed, "bomb.gz", limit);
      std::size_t size = 0;
      while (const std::size_t count = source->read(bytes)) size += count;
      return size;
    };
    EXPECT_EQ(read({}), zeros.size());
    EXPECT_THAT(
        error_of([&] { read({.grace = 1 << 20, .ratio = 100}); }),
        testing::AllOf(HasSubstr("bomb.gz: unpacks to more than 100 times its size"), HasSubstr("if you trust")));
  }
}

TEST(ByteSource, OpensFilesByWhatTheyAre) {
  const TemporaryFolder folder;
  const auto write = [&folder](const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  };
  EXPECT_EQ(all_of(*open_bytes(write("plain.txt", "text"))), "text");
  EXPECT_EQ(all_of(*open_bytes(write("packed.txt.gz", gzipped("text")))), "text");
  EXPECT_EQ(all_of(*open_bytes(write("misnamed.txt", zstd_packed("text")))), "text");
  EXPECT_THAT(error_of([&] { open_bytes(write("no.gz", "text")); }), HasSubstr("is called .gz and is no such archive"));
  EXPECT_THAT(error_of([&] { open_bytes(write("none.zst", "")); }), HasSubstr("is called .zst"));
  EXPECT_THAT(error_of([&] { open_bytes(folder / "absent.txt"); }), HasSubstr("absent.txt: cannot open: No such file"));
  EXPECT_THAT(error_of([&] { open_bytes(folder.path()); }), HasSubstr("is a directory"));
  ASSERT_EQ(::mkfifo((folder / "pipe.txt").c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { open_bytes(folder / "pipe.txt"); }), HasSubstr("is not a regular file"));
}

TEST(ByteSource, NoticesAFileThatChangesUnderIt) {
  const TemporaryFolder folder;
  const std::string path = folder / "data.txt";
  for (const std::size_t size : {std::size_t{10}, std::size_t{200000}}) {  // Shrinks, grows.
    std::ofstream(path) << std::string(100000, 'a');
    const auto source = open_bytes(path);
    std::vector<char> bytes(50000);
    EXPECT_GT(source->read(bytes), 0U);
    std::filesystem::resize_file(path, size);
    EXPECT_THAT(error_of([&] { all_of(*source); }), HasSubstr("data.txt: changed while it was read")) << size;
  }
}

}  // namespace
}  // namespace semfuse
