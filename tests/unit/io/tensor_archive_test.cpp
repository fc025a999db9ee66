#include "io/tensor_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <ostream>
#include <string>

#include "io/file.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

std::string file_with(std::string_view header, std::size_t data_size, std::uint64_t declared) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &declared, 8);
  return bytes + std::string(header) + std::string(data_size, '\x01');
}

TensorArchive parse(std::string_view bytes) {
  return TensorArchive::parse(bytes_of(bytes), "m.safetensors");
}

TensorArchive parse(std::string_view header, std::size_t data_size) {
  return parse(file_with(header, data_size, header.size()));
}

std::string archive_refusal(std::string_view bytes) {
  try {
    parse(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string archive_refusal(std::string_view header, std::size_t data_size) {
  return archive_refusal(file_with(header, data_size, header.size()));
}

TEST(TensorArchive, ReadsWhatTheWriterWrote) {
  const std::vector<float> weights = {1.5F, -2.0F, 0.0F, 3.25F, 1e-30F, 7.0F};
  const std::vector<std::int32_t> ids = {-1, 2147483647};
  const float scalar = 0.5F;
  TensorArchiveWriter writer;
  writer.set_metadata("attention", "causal \"both\" \n \xC3\xA9");
  writer.add("w", {2, 3}, weights);
  writer.add("ids", {2}, ids);
  writer.add("empty", {0, 4}, std::span<const float>());
  writer.add("scalar", {}, std::span(&scalar, 1));
  const TensorArchive archive = parse(writer.encode());
  EXPECT_EQ(archive.metadata("attention"), "causal \"both\" \n \xC3\xA9");
  EXPECT_THAT(archive.floats("w"), testing::ElementsAreArray(weights));
  EXPECT_THAT(archive.ints("ids"), testing::ElementsAreArray(ids));
  EXPECT_TRUE(archive.floats("empty").empty());
  EXPECT_THAT(archive.floats("scalar"), ElementsAre(0.5F));
  EXPECT_THAT(archive.find("w")->shape, ElementsAre(2, 3));
  EXPECT_TRUE(archive.find("scalar")->shape.empty());
  EXPECT_EQ(archive.find("absent"), nullptr);
  EXPECT_EQ(archive.tensors().size(), 4U);
}

TEST(TensorArchive, WritesTheSameBytesAndAlignsTheData) {
  const float value = 1.0F;
  for (std::size_t length = 0; length < 9; ++length) {
    TensorArchiveWriter writer;
    writer.set_metadata("b", "2");
    writer.set_metadata("a", "1");
    writer.add(std::string(length + 1, 'x'), {1}, std::span(&value, 1));
    const std::string bytes = writer.encode();
    EXPECT_EQ(bytes, writer.encode());
    EXPECT_EQ((bytes.size() - sizeof value) % 8, 0U);
    EXPECT_LT(bytes.find("\"a\""), bytes.find("\"b\""));
  }
}

TEST(TensorArchive, KeepsSpansWhenMoved) {
  const std::vector<float> weights = {1.0F, 2.0F};
  TensorArchiveWriter writer;
  writer.add("w", {2}, weights);
  TensorArchive archive = parse(writer.encode());
  const std::span<const float> before = archive.floats("w");
  const TensorArchive moved = std::move(archive);
  EXPECT_EQ(moved.floats("w").data(), before.data());
}

TEST(TensorArchive, GivesAlignedSpansForUnalignedTensors) {
  const std::string header =
      R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"I32","shape":[2],"data_offsets":[3,11]}})";
  const TensorArchive archive = parse(header, 11);
  const auto ints = archive.ints("b");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ints.data()) % alignof(std::int32_t), 0U);
  EXPECT_THAT(ints, ElementsAre(0x01010101, 0x01010101));
}

TEST(TensorArchive, ListsOtherTypesButReadsOnlyTheAskedOne) {
  const TensorArchive archive = parse(R"({"h":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 4);
  EXPECT_EQ(to_string(archive.find("h")->dtype), "BF16");
  EXPECT_EQ(archive.find("h")->size(), 2U);
  try {
    archive.floats("h");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "m.safetensors: tensor \"h\" is BF16; convert it to F32");
  }
  EXPECT_THROW(archive.ints("h"), Error);
  EXPECT_THROW(archive.floats("absent"), Error);
  EXPECT_THROW(archive.metadata("absent"), Error);
}

TEST(TensorArchive, RefusesBadHeaderLengths) {
  EXPECT_THAT(archive_refusal(""), AllOf(StartsWith("m.safetensors: "), HasSubstr("0 bytes")));
  EXPECT_THAT(archive_refusal("1234567"), HasSubstr("too few"));
  EXPECT_THAT(archive_refusal(file_with("", 0, 0)), HasSubstr("header length is 0"));
  EXPECT_THAT(archive_refusal(file_with("{}", 0, 3)), HasSubstr("header length 3 is past the file's 10 bytes"));
  EXPECT_THAT(archive_refusal(file_with("{}", 0, ~std::uint64_t{0})), HasSubstr("header length 18446744073709551615"));
  EXPECT_THAT(archive_refusal(file_with("{}", 0, ~std::uint64_t{0} - 7)), HasSubstr("is past the file"));
}

// Quadratic work would take minutes here.
TEST(TensorArchive, ReadsAHeaderOfManyTensors) {
  constexpr std::size_t kTensors = 100'000;
  std::string header = "{";
  for (std::size_t i = 0; i < kTensors; ++i) {
    header += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
  }
  EXPECT_EQ(parse(header + "}", 0).tensors().size(), kTensors);
  EXPECT_THAT(archive_refusal(header + ",\"t0\":{}}", 0), HasSubstr("\"t0\" appears twice"));
}

struct BadHeader {
  const char* name;
  std::string header;
  std::size_t data_size;
  const char* message;
};

void PrintTo(const BadHeader& bad, std::ostream* out) {
  *out << bad.name;
}

class TensorArchiveRefusal : public testing::TestWithParam<BadHeader> {};

TEST_P(TensorArchiveRefusal, NamesTheFaultInOneLine) {
  const std::string message = archive_refusal(GetParam().header, GetParam().data_size);
  EXPECT_THAT(message, AllOf(StartsWith("m.safetensors: "), HasSubstr(GetParam().message), HasSubstr("; ")));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
}

std::string entry(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return "{\"w\":{\"dtype\":" + std::string(dtype) + ",\"shape\":" + std::string(shape) +
         ",\"data_offsets\":" + std::string(offsets) + "}}";
}

std::string two(std::string_view offsets_a, std::string_view offsets_b) {
  return "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" + std::string(offsets_a) +
         "},\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" + std::string(offsets_b) + "}}";
}

INSTANTIATE_TEST_SUITE_P(
    Headers, TensorArchiveRefusal,
    testing::Values(
        BadHeader{"not_json", "{oops}", 0, "not valid JSON"}, BadHeader{"cut_json", "{\"w\":", 0, "not valid JSON"},
        BadHeader{"json_with_tail", "{} {}", 0, "not valid JSON"},
        BadHeader{"zero_byte", std::string("{}\0{}", 5), 0, "zero byte"},
        BadHeader{"bad_utf8", "{\"\xFF\":1}", 0, "not valid JSON"}, BadHeader{"array", "[]", 0, "does not begin with"},
        BadHeader{"space_first", " {}", 0, "does not begin with"},
        BadHeader{"deep", "{\"w\":{\"shape\":[[1]]}}", 0, "deeper than 3"},
        BadHeader{"very_deep", "{\"w\":" + std::string(100000, '['), 0, "deeper than 3"},
        BadHeader{"huge_number", entry("\"F32\"", "[1e999]", "[0,4]"), 4, "out of range"},
        BadHeader{"entry_not_object", "{\"w\":3}", 0, "tensor \"w\" is not described by an object"},
        BadHeader{"no_dtype", R"({"w":{"shape":[1],"data_offsets":[0,4]}})", 4, "\"w\" lacks the field \"dtype\""},
        BadHeader{"no_shape", R"({"w":{"dtype":"F32","data_offsets":[0,4]}})", 4, "lacks the field \"shape\""},
        BadHeader{"no_offsets", R"({"w":{"dtype":"F32","shape":[1]}})", 4, "lacks the field \"data_offsets\""},
        BadHeader{"extra_field", R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}})", 4,
                  "unknown field \"x\""},
        BadHeader{"unknown_dtype", entry("\"F31\"", "[1]", "[0,4]"), 4, "unknown dtype \"F31\""},
        BadHeader{"dtype_number", entry("32", "[1]", "[0,4]"), 4, "dtype that is not a string"},
        BadHeader{"shape_number", entry("\"F32\"", "1", "[0,4]"), 4, "shape that is not an array"},
        BadHeader{"shape_negative", entry("\"F32\"", "[-1]", "[0,4]"), 4, "shape with an entry that is no whole"},
        BadHeader{"shape_fraction", entry("\"F32\"", "[1.0]", "[0,4]"), 4, "shape with an entry that is no whole"},
        BadHeader{"shape_text", entry("\"F32\"", "[\"1\"]", "[0,4]"), 4, "shape with an entry that is no whole"},
        BadHeader{"shape_past_64_bits", entry("\"F32\"", "[18446744073709551616]", "[0,4]"), 4, "no whole number"},
        BadHeader{"shape_overflow", entry("\"F32\"", "[4294967296,4294967296]", "[0,4]"), 4, "size overflows"},
        BadHeader{"dtype_overflow", entry("\"F32\"", "[4611686018427387904]", "[0,0]"), 0, "size overflows"},
        BadHeader{"overflow_before_zero", entry("\"F32\"", "[4294967296,4294967296,0]", "[0,0]"), 0, "size overflows"},
        BadHeader{"overflow_after_zero", entry("\"F32\"", "[0,4294967296,4294967296]", "[0,0]"), 0, "size overflows"},
        BadHeader{"shape_too_large", entry("\"F32\"", "[2]", "[0,4]"), 4, "needs 8 bytes by its shape"},
        BadHeader{"one_offset", entry("\"F32\"", "[1]", "[0]"), 4, "1 data_offsets instead of 2"},
        BadHeader{"offset_negative", entry("\"F32\"", "[1]", "[-4,0]"), 4, "data_offsets with an entry that is no"},
        BadHeader{"offset_fraction", entry("\"F32\"", "[1]", "[0,4.5]"), 4, "data_offsets with an entry that is no"},
        BadHeader{"reversed", entry("\"F32\"", "[1]", "[4,0]"), 4, "reversed data_offsets [4, 0]"},
        BadHeader{"truncated", entry("\"F32\"", "[2]", "[0,8]"), 7, "ends at byte 8 of the data, which has only 7"},
        BadHeader{"offset_far", entry("\"F32\"", "[1]", "[18446744073709551608,18446744073709551612]"), 4,
                  "has only 4"},
        BadHeader{"overlap", two("[0,4]", "[2,6]"), 8, "\"b\" overlaps the tensor before it"},
        BadHeader{"same_place", two("[0,4]", "[0,4]"), 4, "\"b\" overlaps"},
        BadHeader{"hole", two("[0,4]", "[8,12]"), 12, "\"b\" leaves a hole of 4 bytes"},
        BadHeader{"hole_at_start", entry("\"F32\"", "[1]", "[4,8]"), 8, "\"w\" leaves a hole of 4 bytes"},
        BadHeader{"trailing", entry("\"F32\"", "[1]", "[0,4]"), 9, "5 bytes after the last tensor"},
        BadHeader{"only_trailing", "{}", 1, "1 bytes after the last tensor"},
        BadHeader{"same_name", R"({"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"w":{}})", 0,
                  "\"w\" appears twice"},
        BadHeader{"metadata_number", R"({"__metadata__":{"a":1}})", 0, "metadata \"a\" is not a string"},
        BadHeader{"metadata_text", R"({"__metadata__":"a"})", 0, "__metadata__ is not an object"},
        BadHeader{"metadata_twice", R"({"__metadata__":{"a":"1","a":"2"}})", 0, "\"a\" appears twice"}),
    [](const auto& refusal_case) { return refusal_case.param.name; });

TEST(TensorArchive, SavesAndLoads) {
  const auto path = std::filesystem::path(testing::TempDir()) / "archive_test.safetensors";
  const std::vector<float> weights = {1.0F, 2.0F};
  TensorArchiveWriter writer;
  writer.add("w", {2}, weights);
  writer.save(path);
  EXPECT_EQ(read_text(path), writer.encode());
  EXPECT_THAT(TensorArchive::load(path).floats("w"), ElementsAre(1.0F, 2.0F));
  std::filesystem::remove(path);
}

TEST(TensorArchive, ReadsTheEmptyArchive) {
  EXPECT_TRUE(parse(TensorArchiveWriter().encode()).tensors().empty());
}

TEST(TensorArchiveWriter, RefusesTwinsReservedNamesAndBrokenText) {
  TensorArchiveWriter writer;
  writer.add("w", {0}, std::span<const float>());
  EXPECT_THROW(writer.add("w", {0}, std::span<const float>()), Error);
  EXPECT_THROW(writer.add("__metadata__", {0}, std::span<const float>()), Error);
  writer.set_metadata("a", "\xFF");
  EXPECT_THROW(writer.encode(), Error);
}

TEST(TensorArchiveWriter, AChecksumCoversEveryByte) {
  const std::vector<float> values = {1.0f, 2.0f, 3.0f};
  TensorArchiveWriter writer;
  writer.set_metadata("text", "\"semfuse_checksum\":\"12345678\"");
  writer.add("a", {3}, std::span<const float>(values));
  EXPECT_FALSE(parse(writer.encode()).has_checksum());
  writer.add_checksum();
  const std::string bytes = writer.encode();
  const TensorArchive archive = parse(bytes);
  EXPECT_TRUE(archive.has_checksum());
  EXPECT_EQ(archive.metadata().size(), 1U) << "the checksum is not among the metadata";
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[place] = static_cast<char>(flipped[place] ^ (1 << bit));
      try {
        EXPECT_FALSE(parse(flipped).has_checksum()) << place;  // Its key has another name now.
      } catch (const Error&) {
      }
    }
  }
}

TEST(TensorArchiveWriter, TheChecksumsKeyIsReserved) {
  TensorArchiveWriter writer;
  EXPECT_THROW(writer.set_metadata("semfuse_checksum", "x"), Error);
  writer.set_metadata("x\"semfuse_checksum", "y");
  writer.add_checksum();
  EXPECT_THROW(writer.encode(), Error);
}

}  // namespace
}  // namespace semfuse
