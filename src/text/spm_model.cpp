#include <fmt/format.h>

#include <cstring>

#include "io/byte_reader.h"
#include "io/quoted_text.h"
#include "text/spm_pieces.h"

namespace semfuse {
namespace {

// One field of a message in the wire format of protocol buffers.
struct Field {
  std::uint64_t number = 0;
  std::uint64_t value = 0;           // Of a varint or fixed field.
  std::span<const std::byte> bytes;  // Of a length-delimited one.
};

class Message {
 public:
  Message(std::span<const std::byte> bytes, std::string_view origin) : reader_(bytes, std::string(origin)) {}

  bool next(Field& field) {
    if (reader_.left() == 0) return false;
    const std::uint64_t tag = varint();
    field = {.number = tag >> 3, .value = 0, .bytes = {}};
    if (field.number == 0) reader_.fail("has a field 0", "this is no SentencePiece model");
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = reader_.number<std::uint64_t>("a field");
        break;
      case 2:
        field.bytes = reader_.take(varint(), "a field");
        break;
      case 5:
        field.value = reader_.number<std::uint32_t>("a field");
        break;
      default:
        reader_.fail(fmt::format("has a field of the wire type {}", tag & 7), "this is no SentencePiece model");
    }
    return true;
  }
  [[noreturn]] void fail(std::string_view what, std::string_view next) const { reader_.fail(what, next); }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = reader_.number<std::uint8_t>("a number");
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    reader_.fail("has a number of more than 64 bits", "this is no SentencePiece model");
  }

  ByteReader reader_;
};

std::string text_of(const Field& field) {
  return {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
}

SpmPiece read_piece(std::span<const std::byte> bytes, std::string_view origin) {
  SpmPiece piece;
  Message message(bytes, origin);
  for (Field field; message.next(field);) {
    if (field.number == 1) piece.text = text_of(field);
    if (field.number == 2) {
      const auto bits = static_cast<std::uint32_t>(field.value);
      float score;
      std::memcpy(&score, &bits, sizeof(score));
      piece.score = score;
    }
    if (field.number == 3) piece.type = spm_type(static_cast<double>(field.value), origin);
  }
  return piece;
}

void check_trainer(std::span<const std::byte> bytes, std::string_view origin) {
  std::uint64_t kind = 1;
  Message message(bytes, origin);
  for (Field field; message.next(field);) {
    if (field.number == 3) kind = field.value;
    if (field.number == 24 && field.value != 0)
      message.fail("has blanks behind words (treat_whitespace_as_suffix)", "blanks before words can be read");
  }
  if (kind == 2 || kind == 4) return;
  message.fail(fmt::format("is a SentencePiece model of the type {}", kind == 1   ? "unigram"
                                                                      : kind == 3 ? "word"
                                                                                  : std::to_string(kind)),
               "the types bpe and char can be read");
}

void read_normaliser(std::span<const std::byte> bytes, std::string_view origin, ForeignParts& parts) {
  std::string name;
  bool has_rules = false;
  Message message(bytes, origin);
  for (Field field; message.next(field);) {
    if (field.number == 1) name = text_of(field);
    if (field.number == 2) has_rules = !field.bytes.empty();
    if (field.number == 3) parts.prefix_blank = field.value != 0;
    if (field.number == 4) parts.squeezes_blanks = field.value != 0;
    if (field.number == 5 && field.value == 0)
      message.fail("does not escape blanks (escape_whitespaces)", "models that do can be read");
  }
  if (has_rules) message.fail(fmt::format("has the normaliser {}", quoted_text(name)), "only identity can be read");
}

}  // namespace

ForeignParts parse_spm_model(std::span<const std::byte> file, std::string_view origin) {
  std::vector<SpmPiece> pieces;
  std::span<const std::byte> trainer;
  std::span<const std::byte> normaliser;
  Message message(file, origin);
  for (Field field; message.next(field);) {
    if (field.number == 1) pieces.push_back(read_piece(field.bytes, origin));
    if (pieces.size() > kMaxTokenizerSize) message.fail("has too many pieces", "this is no SentencePiece model");
    if (field.number == 2) trainer = field.bytes;
    if (field.number == 3) normaliser = field.bytes;
  }
  if (pieces.empty()) message.fail("has no pieces", "this is no SentencePiece model");
  check_trainer(trainer, origin);
  ForeignParts parts = spm_parts(pieces, origin);
  parts.prefix_blank = true;  // What holds if the file does not say.
  parts.squeezes_blanks = true;
  read_normaliser(normaliser, origin, parts);
  return parts;
}

}  // namespace semfuse
