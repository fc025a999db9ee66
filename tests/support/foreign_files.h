// Small models as other programs write them, made up by a formula: llama2.c's files, GGUF, safetensors.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// Bytes that grow.
class ByteWriter {
 public:
  template <class T>
  ByteWriter& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    return *this;
  }
  ByteWriter& raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  ByteWriter& pad_to(std::size_t size) {
    bytes_.resize(size, '\0');
    return *this;
  }
  ByteWriter& align(std::size_t size) { return pad_to((bytes_.size() + size - 1) / size * size); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Number i of a tensor, exact as a half: nothing is lost in any plain type but bfloat16.
inline float made_up(std::size_t tensor, std::size_t i) {
  return static_cast<float>(static_cast<int>((i * 7 + tensor * 13) % 31) - 15) / 16.0F;
}

inline std::string made_up_floats(std::size_t tensor, std::size_t count) {
  ByteWriter writer;
  for (std::size_t i = 0; i < count; ++i) writer.number(made_up(tensor, i));
  return writer.bytes();
}

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A GGUF file: values and tensors in the order in which they were added.
class GgufBuilder {
 public:
  GgufBuilder& text(std::string_view key, std::string_view value) {
    begin(key, 8);
    string(values_, value);
    return *this;
  }
  GgufBuilder& whole(std::string_view key, std::uint32_t value) {
    begin(key, 4);
    values_.number(value);
    return *this;
  }
  GgufBuilder& real(std::string_view key, float value) {
    begin(key, 6);
    values_.number(value);
    return *this;
  }
  GgufBuilder& texts(std::string_view key, const std::vector<std::string>& list) {
    begin(key, 9);
    values_.number(std::uint32_t{8}).number(static_cast<std::uint64_t>(list.size()));
    for (const std::string& item : list) string(values_, item);
    return *this;
  }
  GgufBuilder& wholes(std::string_view key, const std::vector<std::int32_t>& list) {
    begin(key, 9);
    values_.number(std::uint32_t{5}).number(static_cast<std::uint64_t>(list.size()));
    for (const std::int32_t item : list) values_.number(item);
    return *this;
  }
  // `sizes` innermost first.
  GgufBuilder& tensor(std::string_view name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                      std::string_view bytes) {
    string(infos_, name);
    infos_.number(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) infos_.number(size);
    infos_.number(type).number(static_cast<std::uint64_t>(data_.bytes().size()));
    data_.raw(bytes).align(32);
    ++num_tensors_;
    return *this;
  }
  std::string build(std::uint32_t version = 3) const {
    ByteWriter file;
    file.raw("GGUF").number(version).number(num_tensors_).number(num_values_).raw(values_.bytes()).raw(infos_.bytes());
    file.align(32).raw(data_.bytes());
    return file.bytes();
  }

 private:
  static void string(ByteWriter& to, std::string_view text) {
    to.number(static_cast<std::uint64_t>(text.size())).raw(text);
  }
  void begin(std::string_view key, std::uint32_t type) {
    string(values_, key);
    values_.number(type);
    ++num_values_;
  }

  ByteWriter values_, infos_, data_;
  std::uint64_t num_values_ = 0;
  std::uint64_t num_tensors_ = 0;
};

// llama2.c's version 0: width 32, feed-forward 32, 1 layer, 2 heads, 300 tokens, context 16.
inline std::string small_llama_file() {
  ByteWriter file;
  for (const std::int32_t n : {32, 32, 1, 2, 2, 300, 16}) file.number(n);
  const std::size_t count = 300 * 32 + 32 + 4 * 32 * 32 + 32 + 3 * 32 * 32 + 32 + 16 * 16;
  return file.raw(made_up_floats(1, count)).bytes();
}

// llama2.c's tokenizer.bin: <unk>, <s>, </s>, the bytes, a blank, letters, " a" and "ab".
inline std::string small_llama_tokenizer() {
  ByteWriter file;
  file.number(std::int32_t{6});
  const auto add = [&](const std::string& text, float score) {
    file.number(score).number(static_cast<std::int32_t>(text.size())).raw(text);
  };
  for (const char* text : {"<unk>", "<s>", "</s>"}) add(text, 0);
  constexpr const char* kDigits = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte) add(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + '>', 0);
  for (const char* text : {" ", "a", "b", " a", "ab"})
    add(text, text[1] == '\0' ? -9.0F : text[0] == ' ' ? -1.0F : -2.0F);
  return file.bytes();
}

}  // namespace semfuse
