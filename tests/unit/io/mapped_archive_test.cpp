#include "io/mapped_archive.h"

#include <gmock/gmock.h>

#include <cstring>

#include "io/byte_reader.h"
#include "io/tensor_archive.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/error.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

TEST(MappedArchive, SeesWhatWasWrittenPieceByPiece) {
  const TemporaryFolder folder;
  TensorArchiveWriter writer;
  writer.set_metadata("who", "me");
  const std::vector<float> numbers = {1, 2, 3};
  writer.add("numbers", {3}, numbers);
  writer.add("bytes", {2, 3}, DType::u8, [](const ByteSink& sink) {
    sink("ab");
    sink("cdef");
  });
  writer.save(folder / "file");
  const MappedArchive archive(folder / "file");
  EXPECT_EQ(archive.metadata().at("who"), "me");
  ASSERT_NE(archive.find("bytes"), nullptr);
  EXPECT_EQ(archive.find("bytes")->dtype, DType::u8);
  EXPECT_EQ(archive.find("none"), nullptr);
  EXPECT_EQ(std::memcmp(archive.bytes(*archive.find("bytes")).data(), "abcdef", 6), 0);
  EXPECT_EQ(archive.bytes(*archive.find("numbers")).size(), 12U);
  EXPECT_EQ(TensorArchive::load(folder / "file").floats("numbers")[2], 3.0F);
}

TEST(MappedArchive, RefusesOtherFilesAndShortProducers) {
  const TemporaryFolder folder;
  TensorArchiveWriter writer;
  writer.add("bytes", {4}, DType::u8, [](const ByteSink& sink) { sink("abc"); });
  EXPECT_THROW(writer.save(folder / "file"), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "file")) << "what failed is not there";
  EXPECT_THROW(MappedArchive(folder / "file"), Error);
  EXPECT_THROW(MappedArchive(folder.path()), Error);
}

TEST(ByteReader, NeverGoesPastTheEnd) {
  const std::string text("\1\0\0\0abc", 7);
  ByteReader reader(std::as_bytes(std::span(text)), "file");
  EXPECT_EQ(reader.number<std::uint32_t>("count"), 1U);
  EXPECT_EQ(reader.text(2, "name"), "ab");
  EXPECT_EQ(reader.left(), 1U);
  try {
    reader.take(static_cast<std::size_t>(-1), "a tensor");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("file: a tensor needs 18446744073709551615 bytes at byte 6, but only 1"));
  }
}

}  // namespace
}  // namespace semfuse
