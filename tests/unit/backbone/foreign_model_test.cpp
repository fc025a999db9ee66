#include "backbone/foreign_model.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "backbone/hf_export.h"
#include "backbone/imported_model.h"
#include "backbone/model_import.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/error.h"
#include "support/foreign_files.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

// dim 64, feed-forward 96, 2 layers, 4 heads, 2 of keys, 5 words, context 8.
constexpr std::size_t kD = 64, kF = 96, kL = 2, kH = 4, kG = 2, kV = 5, kC = 8, kHd = 16;

ImportedModel imported(const std::string& path, const TemporaryFolder& folder,
                       Quantisation quantisation = Quantisation::none) {
  static int count = 0;
  const std::string out = folder / ("out" + std::to_string(count++));
  std::filesystem::create_directory(out);
  import_model(open_foreign_model(path), out, quantisation);
  return ImportedModel(out);
}

std::vector<float> numbers(const ImportedModel& model, std::string_view name) {
  const StoredTensor& tensor = model.tensor(name);
  std::vector<float> result(tensor.rows * tensor.columns);
  for (std::size_t r = 0; r < tensor.rows; ++r) {
    decode_row(tensor.type, tensor.row(r), std::span(result).subspan(r * tensor.columns, tensor.columns));
  }
  return result;
}

std::vector<float> made_up_list(std::size_t tensor, std::size_t count, std::size_t first = 0) {
  std::vector<float> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(made_up(tensor, first + i));
  return result;
}

template <class Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string refusal(const TemporaryFolder& folder, std::string_view bytes) {
  write_file(folder / "bad", bytes);
  return message_of([&] { imported(folder / "bad", folder); });
}

// Tensors are numbered in the order of the file.
std::string version_0(bool tied) {
  ByteWriter file;
  for (const std::size_t n : {kD, kF, kL, kH, kG}) file.number(static_cast<std::int32_t>(n));
  file.number(static_cast<std::int32_t>(tied ? kV : -kV)).number(static_cast<std::int32_t>(kC));
  const std::size_t key = kG * kHd * kD;
  std::size_t tensor = 0;
  for (const std::size_t n : {kV * kD, kL * kD, kL * kD * kD, kL * key, kL * key, kL * kD * kD, kL * kD, kL * kF * kD,
                              kL * kD * kF, kL * kF * kD, kD, kC * kHd}) {
    file.raw(made_up_floats(tensor++, n));
  }
  if (!tied) file.raw(made_up_floats(tensor, kV * kD));
  return file.bytes();
}

std::string later_header(int version, int group) {
  ByteWriter file;
  file.number(std::uint32_t{0x616B3432}).number(static_cast<std::int32_t>(version));
  for (const std::size_t n : {kD, kF, kL, kH, kG, kV, kC}) file.number(static_cast<std::int32_t>(n));
  file.number(std::uint8_t{1});
  if (group > 0) file.number(static_cast<std::int32_t>(group));
  return file.pad_to(256).bytes();
}

TEST(Llama2c, ReadsVersion0WithAndWithoutAHead) {
  const TemporaryFolder folder;
  write_file(folder / "tied", version_0(true));
  const ImportedModel tied = imported(folder / "tied", folder);
  EXPECT_TRUE(tied.spec().tied);
  EXPECT_EQ(tied.spec().rotary_pairs, RotaryPairs::adjacent);
  EXPECT_EQ(numbers(tied, "embedding"), made_up_list(0, kV * kD));
  EXPECT_EQ(numbers(tied, "layers.1.query"), made_up_list(2, kD * kD, kD * kD));
  EXPECT_EQ(numbers(tied, "layers.1.value"), made_up_list(4, kG * kHd * kD, kG * kHd * kD));
  EXPECT_EQ(numbers(tied, "layers.0.down"), made_up_list(8, kD * kF));
  EXPECT_EQ(numbers(tied, "final_norm.weight"), made_up_list(10, kD));
  EXPECT_EQ(tied.spec().source_sha256.size(), 64U);
  EXPECT_EQ(tied.tokenizer(), nullptr);
  write_file(folder / "head", version_0(false));
  const ImportedModel head = imported(folder / "head", folder);
  EXPECT_FALSE(head.spec().tied);
  EXPECT_EQ(numbers(head, "head"), made_up_list(12, kV * kD));
}

TEST(Llama2c, ReadsVersion1) {
  const TemporaryFolder folder;
  ByteWriter file;
  file.raw(later_header(1, 0));
  std::size_t tensor = 0;
  const std::size_t key = kG * kHd * kD;
  for (const std::size_t n : {kL * kD, kL * kD, kD, kV * kD, kL * kD * kD, kL * key, kL * key, kL * kD * kD,
                              kL * kF * kD, kL * kD * kF, kL * kF * kD}) {
    file.raw(made_up_floats(tensor++, n));
  }
  write_file(folder / "model", file.bytes());
  const ImportedModel model = imported(folder / "model", folder);
  EXPECT_EQ(numbers(model, "layers.1.hidden_norm.weight"), made_up_list(1, kD, kD));
  EXPECT_EQ(numbers(model, "layers.0.up"), made_up_list(10, kF * kD));
}

// Rows of 64 stay 8 bits wide; rows of 96 have groups that go over their end, and become floats.
TEST(Llama2c, ReadsVersion2) {
  const TemporaryFolder folder;
  ByteWriter file;
  file.raw(later_header(2, 64));
  for (const std::size_t n : {kL * kD, kL * kD, kD}) file.raw(made_up_floats(0, n));
  const std::size_t key = kG * kHd * kD;
  for (const std::size_t n : {kV * kD, kD * kD, kD * kD, key, key, key, key, kD * kD, kD * kD, kF * kD, kF * kD,
                              kD * kF, kD * kF, kF * kD, kF * kD}) {
    for (std::size_t i = 0; i < n; ++i) file.number(static_cast<std::int8_t>(i % 200 - 100));
    for (std::size_t i = 0; i < n / 64; ++i) file.number(static_cast<float>(i + 1));
  }
  write_file(folder / "model", file.bytes());
  const ImportedModel model = imported(folder / "model", folder);
  EXPECT_EQ(model.tensor("layers.1.query").type, StorageType::q8_64);
  EXPECT_EQ(model.tensor("layers.1.down").type, StorageType::f32);
  for (const char* name : {"layers.1.query", "layers.1.down"}) {
    const std::vector<float> found = numbers(model, name);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const float scale = static_cast<float>(i / 64 + 1);
      ASSERT_EQ(found[i], scale * static_cast<float>(static_cast<std::int8_t>(i % 200 - 100))) << name << ' ' << i;
    }
  }
}

TEST(Llama2c, RefusesFilesThatAreNotWhole) {
  const TemporaryFolder folder;
  const std::string good = version_0(true);
  EXPECT_THAT(refusal(folder, good.substr(0, good.size() - 1)), HasSubstr("cut short"));
  EXPECT_THAT(refusal(folder, good + "x"), HasSubstr("1 bytes after the last tensor"));
  EXPECT_THAT(refusal(folder, later_header(7, 0)), HasSubstr("versions 0, 1 and 2 can be read"));
  EXPECT_THAT(refusal(folder, "PK\3\4 a zip"), HasSubstr("zip file"));
  EXPECT_THAT(refusal(folder, ""), HasSubstr("is no model that can be read"));
}

GgufBuilder llama_gguf(std::uint32_t type) {
  GgufBuilder file;
  file.text("general.architecture", "llama").whole("llama.block_count", 1).whole("llama.context_length", kC);
  file.whole("llama.embedding_length", kD)
      .whole("llama.feed_forward_length", kF)
      .whole("llama.attention.head_count", kH);
  file.whole("llama.attention.head_count_kv", kG).real("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  const auto matrix = [&](const char* name, std::size_t rows, std::size_t columns, std::size_t tensor) {
    std::string bytes = made_up_floats(tensor, rows * columns);
    if (type != 0) {
      std::string blocks;
      for (std::size_t i = 0; i < rows * columns / 32; ++i)
        blocks += std::string("\0\x2C", 2) + std::string(32, static_cast<char>(i));
      bytes = blocks;
    }
    file.tensor(name, {columns, rows}, type, bytes);
  };
  matrix("token_embd.weight", kV, kD, 0);
  matrix("blk.0.attn_q.weight", kD, kD, 1);
  matrix("blk.0.attn_k.weight", kG * kHd, kD, 2);
  matrix("blk.0.attn_v.weight", kG * kHd, kD, 3);
  matrix("blk.0.attn_output.weight", kD, kD, 4);
  matrix("blk.0.ffn_gate.weight", kF, kD, 5);
  matrix("blk.0.ffn_up.weight", kF, kD, 6);
  matrix("blk.0.ffn_down.weight", kD, kF, 7);
  for (const char* name : {"output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"}) {
    file.tensor(name, {kD}, 0, made_up_floats(8, kD));
  }
  return file;
}

TEST(Gguf, ReadsALlamaAsItIsStored) {
  const TemporaryFolder folder;
  write_file(folder / "plain", llama_gguf(0).build());
  const ImportedModel plain = imported(folder / "plain", folder);
  EXPECT_EQ(numbers(plain, "layers.0.down"), made_up_list(7, kD * kF));
  EXPECT_EQ(plain.spec().norm_epsilon, 1e-5);
  EXPECT_TRUE(plain.spec().tied);
  write_file(folder / "blocks", llama_gguf(8).build(2));
  const ImportedModel blocks = imported(folder / "blocks", folder);
  EXPECT_EQ(blocks.tensor("layers.0.gate").type, StorageType::q8_0);
  EXPECT_EQ(numbers(blocks, "layers.0.gate")[33], 0x1p-4F);
}

TEST(Gguf, QuantisesOnImport) {
  const TemporaryFolder folder;
  write_file(folder / "plain", llama_gguf(0).build());
  const ImportedModel q8 = imported(folder / "plain", folder, Quantisation::q8);
  const ImportedModel q4 = imported(folder / "plain", folder, Quantisation::q4);
  EXPECT_EQ(q8.tensor("layers.0.down").type, StorageType::q8_0);
  EXPECT_EQ(q4.tensor("layers.0.down").type, StorageType::q4_1);
  EXPECT_EQ(q4.tensor("embedding").type, StorageType::q8_0);
  EXPECT_EQ(q4.tensor("final_norm.weight").type, StorageType::f32);
  const std::vector<float> exact = made_up_list(7, kD * kF);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_NEAR(numbers(q8, "layers.0.down")[i], exact[i], 0.005F);
    ASSERT_NEAR(numbers(q4, "layers.0.down")[i], exact[i], 0.07F);
    if (i > 200) break;
  }
}

TEST(Gguf, SplitsTheFusedMapOfGpt2) {
  const TemporaryFolder folder;
  GgufBuilder file;
  file.text("general.architecture", "gpt2").whole("gpt2.block_count", 1).whole("gpt2.context_length", kC);
  file.whole("gpt2.embedding_length", kD).whole("gpt2.feed_forward_length", kF).whole("gpt2.attention.head_count", kH);
  file.tensor("token_embd.weight", {kD, kV}, 0, made_up_floats(0, kV * kD));
  file.tensor("position_embd.weight", {kD, kC}, 0, made_up_floats(1, kC * kD));
  std::size_t tensor = 2;
  for (const auto& [name, rows, columns] :
       {std::tuple("blk.0.attn_qkv", 3 * kD, kD), std::tuple("blk.0.attn_output", kD, kD),
        std::tuple("blk.0.ffn_up", kF, kD), std::tuple("blk.0.ffn_down", kD, kF)}) {
    file.tensor(std::string(name) + ".weight", {columns, rows}, 0, made_up_floats(tensor++, rows * columns));
    file.tensor(std::string(name) + ".bias", {rows}, 0, made_up_floats(tensor++, rows));
  }
  for (const char* name : {"output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"}) {
    file.tensor(std::string(name) + ".weight", {kD}, 0, made_up_floats(20, kD));
    file.tensor(std::string(name) + ".bias", {kD}, 0, made_up_floats(21, kD));
  }
  write_file(folder / "model", file.build());
  const ImportedModel model = imported(folder / "model", folder);
  EXPECT_EQ(model.spec().activation, BackboneActivation::gelu_tanh);
  EXPECT_EQ(numbers(model, "layers.0.value"), made_up_list(2, kD * kD, 2 * kD * kD));
  EXPECT_EQ(numbers(model, "layers.0.key.bias"), made_up_list(3, kD, kD));
}

TEST(Gguf, RefusesByName) {
  const TemporaryFolder folder;
  const std::string good = llama_gguf(0).build();
  EXPECT_THAT(refusal(folder, good.substr(0, good.size() - 64)), HasSubstr("cut short"));
  EXPECT_THAT(refusal(folder, llama_gguf(0).build(1)), HasSubstr("version 1"));
  EXPECT_THAT(refusal(folder, GgufBuilder().text("general.architecture", "mamba").build()),
              HasSubstr("llama and gpt2"));
  EXPECT_THAT(refusal(folder, llama_gguf(0).whole("llama.expert_count", 8).build()), HasSubstr("mixture of experts"));
  EXPECT_THAT(refusal(folder, llama_gguf(0).text("llama.rope.scaling.type", "yarn").build()), HasSubstr("yarn"));
  EXPECT_THAT(refusal(folder, llama_gguf(0).tensor("blk.0.attn_q_norm.weight", {kD}, 0, made_up_floats(0, kD)).build()),
              HasSubstr("attn_q_norm"));
  EXPECT_THAT(refusal(folder, llama_gguf(0).tensor("blk.0.attn_q.bias", {kD}, 24, std::string(kD, 'x')).build()),
              HasSubstr("is I8"));
  EXPECT_THAT(
      refusal(folder, llama_gguf(0).text("tokenizer.ggml.model", "bert").texts("tokenizer.ggml.tokens", {"a"}).build()),
      HasSubstr("\"bert\""));
  EXPECT_THAT(refusal(folder, llama_gguf(0)
                                  .text("tokenizer.ggml.model", "gpt2")
                                  .texts("tokenizer.ggml.tokens", {"a"})
                                  .text("tokenizer.ggml.pre", "viking")
                                  .build()),
              HasSubstr("\"viking\""));
}

TEST(Gguf, TakesATokenizerFromElsewhere) {
  const TemporaryFolder folder;
  write_file(folder / "model",
             llama_gguf(0).text("tokenizer.ggml.model", "bert").texts("tokenizer.ggml.tokens", {"a"}).build());
  write_file(
      folder / "tokenizer.json",
      R"({"added_tokens":[],"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":[]}})");
  const ForeignModel model = open_foreign_model(folder / "model", folder / "tokenizer.json");
  ASSERT_TRUE(model.tokenizer);
  EXPECT_EQ(model.tokenizer->encode("ba").size(), 2U);
  EXPECT_EQ(model.tokenizer_source, "tokenizer.json");
}

// Counts and lengths as large as they can be must not be believed.
TEST(Gguf, BelievesNoCount) {
  const TemporaryFolder folder;
  for (const std::uint64_t huge : {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    ByteWriter counts;
    counts.raw("GGUF").number(std::uint32_t{3}).number(huge).number(huge).pad_to(200);
    EXPECT_THAT(refusal(folder, counts.bytes()), HasSubstr("tensors in"));
    ByteWriter text;
    text.raw("GGUF")
        .number(std::uint32_t{3})
        .number(std::uint64_t{0})
        .number(std::uint64_t{1})
        .number(huge)
        .pad_to(200);
    EXPECT_THAT(refusal(folder, text.bytes()), HasSubstr("only"));
  }
}

struct HfTensor {
  std::string name;
  std::vector<std::size_t> shape;
  std::size_t number;
};

void write_safetensors(const std::string& path, const std::vector<HfTensor>& tensors, DType dtype = DType::f32) {
  TensorArchiveWriter writer;
  for (const HfTensor& tensor : tensors) {
    std::size_t size = 1;
    for (const std::size_t extent : tensor.shape) size *= extent;
    writer.add(tensor.name, tensor.shape, dtype, [=](const ByteSink& sink) {
      const StorageType type = dtype == DType::f16    ? StorageType::f16
                               : dtype == DType::bf16 ? StorageType::bf16
                                                      : StorageType::f32;
      const std::vector<float> row = made_up_list(tensor.number, size);
      std::vector<std::byte> bytes(dtype == DType::i32 ? 4 * size : row_bytes(type, size));
      if (dtype != DType::i32) encode_row(type, row, bytes);
      sink({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    });
  }
  writer.save(path);
}

constexpr const char* kLlamaConfig =
    R"({"model_type":"llama","hidden_size":64,"intermediate_size":96,"num_hidden_layers":1,"num_attention_heads":4,
        "num_key_value_heads":2,"max_position_embeddings":8,"rms_norm_eps":1e-6,"rope_theta":5e5,"vocab_size":5,
        "bos_token_id":1,"eos_token_id":[2,3],"tie_word_embeddings":false})";

std::vector<HfTensor> hf_llama() {
  const std::string layer = "model.layers.0.";
  return {{"model.embed_tokens.weight", {kV, kD}, 0},
          {layer + "self_attn.q_proj.weight", {kD, kD}, 1},
          {layer + "self_attn.k_proj.weight", {kG * kHd, kD}, 2},
          {layer + "self_attn.v_proj.weight", {kG * kHd, kD}, 3},
          {layer + "self_attn.o_proj.weight", {kD, kD}, 4},
          {layer + "mlp.gate_proj.weight", {kF, kD}, 5},
          {layer + "mlp.up_proj.weight", {kF, kD}, 6},
          {layer + "mlp.down_proj.weight", {kD, kF}, 7},
          {layer + "input_layernorm.weight", {kD}, 8},
          {layer + "post_attention_layernorm.weight", {kD}, 9},
          {"model.norm.weight", {kD}, 10},
          {"lm_head.weight", {kV, kD}, 11}};
}

TEST(HuggingFace, ReadsALlamaOfAnyPlainType) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const TemporaryFolder folder;
    write_file(folder / "config.json", kLlamaConfig);
    write_safetensors(folder / "model.safetensors", hf_llama(), dtype);
    const ImportedModel model = imported(folder.path().string(), folder);
    EXPECT_EQ(model.spec().rotary_pairs, RotaryPairs::halves);
    EXPECT_EQ(model.spec().rotary_base, 5e5);
    EXPECT_EQ(model.spec().eos, (std::vector<TokenId>{2, 3}));
    EXPECT_EQ(model.tensor("layers.0.gate").type, dtype == DType::f32   ? StorageType::f32
                                                  : dtype == DType::f16 ? StorageType::f16
                                                                        : StorageType::bf16);
    EXPECT_EQ(model.tensor("layers.0.hidden_norm.weight").type, StorageType::f32);
    EXPECT_EQ(numbers(model, "layers.0.gate"), made_up_list(5, kF * kD));
    EXPECT_EQ(numbers(model, "head"), made_up_list(11, kV * kD));
  }
}

TEST(HuggingFace, ReadsSeveralFiles) {
  const TemporaryFolder folder;
  write_file(folder / "config.json", kLlamaConfig);
  std::vector<HfTensor> all = hf_llama();
  write_safetensors(folder / "model-1.safetensors", {all.begin(), all.begin() + 5});
  write_safetensors(folder / "model-2.safetensors", {all.begin() + 5, all.end()});
  const auto index = [&](const std::string& first, const std::string& second) {
    std::string text = R"({"metadata":{"total_size":1},"weight_map":{)";
    for (std::size_t i = 0; i < all.size(); ++i) {
      text += (i == 0 ? "\"" : ",\"") + all[i].name + "\":\"" + (i < 5 ? first : second) + '"';
    }
    write_file(folder / "model.safetensors.index.json", text + "}}");
    return message_of([&] { imported(folder.path().string(), folder); });
  };
  EXPECT_EQ(index("model-1.safetensors", "model-2.safetensors"), "nothing was refused");
  EXPECT_THAT(index("model-1.safetensors", "model-1.safetensors"), HasSubstr("is not in"));
  EXPECT_THAT(index("model-1.safetensors", "model-3.safetensors"),
              HasSubstr("model-3.safetensors, which is not there"));
  for (const char* name :
       {"../model-2.safetensors", "/etc/passwd", "model.safetensors.index.json", ".safetensors", ""}) {
    EXPECT_THAT(index("model-1.safetensors", name), HasSubstr("no name of a safetensors file")) << name;
  }
}

std::vector<HfTensor> hf_gpt2() {
  const std::string layer = "transformer.h.0.";
  return {{"transformer.wte.weight", {kV, kD}, 0},
          {"transformer.wpe.weight", {kC, kD}, 1},
          {layer + "attn.c_attn.weight", {kD, 3 * kD}, 2},
          {layer + "attn.c_attn.bias", {3 * kD}, 3},
          {layer + "attn.c_proj.weight", {kD, kD}, 4},
          {layer + "attn.c_proj.bias", {kD}, 5},
          {layer + "mlp.c_fc.weight", {kD, kF}, 6},
          {layer + "mlp.c_fc.bias", {kF}, 7},
          {layer + "mlp.c_proj.weight", {kF, kD}, 8},
          {layer + "mlp.c_proj.bias", {kD}, 9},
          {layer + "ln_1.weight", {kD}, 10},
          {layer + "ln_1.bias", {kD}, 11},
          {layer + "ln_2.weight", {kD}, 12},
          {layer + "ln_2.bias", {kD}, 13},
          {"transformer.ln_f.weight", {kD}, 14},
          {"transformer.ln_f.bias", {kD}, 15},
          {layer + "attn.bias", {1, 1, 8, 8}, 16},
          {"lm_head.weight", {kV, kD}, 0}};
}

TEST(HuggingFace, TurnsTheMatricesOfGpt2) {
  const TemporaryFolder folder;
  write_file(folder / "config.json",
             R"({"model_type":"gpt2","n_embd":64,"n_layer":1,"n_head":4,"n_positions":8,"n_inner":96,
      "activation_function":"gelu","vocab_size":5,"bos_token_id":50256,"eos_token_id":50256})");
  write_safetensors(folder / "model.safetensors", hf_gpt2());
  const ImportedModel model = imported(folder.path().string(), folder);
  EXPECT_EQ(model.spec().activation, BackboneActivation::gelu_erf);
  EXPECT_TRUE(model.spec().tied);
  EXPECT_TRUE(model.spec().eos.empty()) << "50256 is no token of this model";
  const std::vector<float> key = numbers(model, "layers.0.key");
  const std::vector<float> down = numbers(model, "layers.0.down");
  for (std::size_t r = 0; r < kD; ++r) {
    for (std::size_t c = 0; c < kD; ++c) ASSERT_EQ(key[r * kD + c], made_up(2, c * 3 * kD + kD + r));
    for (std::size_t c = 0; c < kF; ++c) ASSERT_EQ(down[r * kF + c], made_up(8, c * kD + r));
  }
  EXPECT_EQ(numbers(model, "layers.0.value.bias"), made_up_list(3, kD, 2 * kD));

  // And back: the exported folder imports as the same model.
  export_hf_model(model, folder / "back");
  const ImportedModel again = imported(folder / "back", folder);
  for (const auto& [name, tensor] : model.tensors()) EXPECT_EQ(numbers(again, name), numbers(model, name)) << name;
}

// Exported, rows of queries and keys have the other order; everything else is as it was.
TEST(HuggingFace, ExportsALlamaThatWasReadFromGguf) {
  const TemporaryFolder folder;
  write_file(folder / "model", llama_gguf(0).build());
  const ImportedModel model = imported(folder / "model", folder);
  export_hf_model(model, folder / "back");
  const ImportedModel again = imported(folder / "back", folder);
  EXPECT_EQ(again.spec().rotary_pairs, RotaryPairs::halves);
  const std::vector<float> ours = numbers(model, "layers.0.query");
  const std::vector<float> theirs = numbers(again, "layers.0.query");
  for (std::size_t head = 0; head < kH; ++head) {
    for (std::size_t i = 0; i < kHd / 2; ++i) {
      for (std::size_t c = 0; c < kD; ++c) {
        ASSERT_EQ(theirs[(head * kHd + i) * kD + c], ours[(head * kHd + 2 * i) * kD + c]);
        ASSERT_EQ(theirs[(head * kHd + i + kHd / 2) * kD + c], ours[(head * kHd + 2 * i + 1) * kD + c]);
      }
    }
  }
  EXPECT_EQ(numbers(again, "layers.0.value"), numbers(model, "layers.0.value"));
  EXPECT_THAT(message_of([&] { export_hf_model(model, folder / "back"); }), HasSubstr("is there already"));
}

TEST(HuggingFace, RefusesByName) {
  const TemporaryFolder folder;
  const auto with = [&](std::string from, const std::string& to) {
    std::string config = kLlamaConfig;
    config.replace(config.find(from), from.size(), to);
    write_file(folder / "config.json", config);
    return message_of([&] { imported(folder.path().string(), folder); });
  };
  write_safetensors(folder / "model.safetensors", hf_llama());
  EXPECT_THAT(with("\"llama\"", "\"qwen2\""), HasSubstr("\"qwen2\"; llama and gpt2 can be read"));
  EXPECT_THAT(with("\"vocab_size\":5", "\"vocab_size\":5,\"rope_scaling\":{\"rope_type\":\"llama3\"}"),
              HasSubstr("llama3"));
  EXPECT_THAT(with("\"vocab_size\":5", "\"vocab_size\":5,\"quantization_config\":{}"),
              HasSubstr("quantization_config"));
  EXPECT_THAT(with("\"vocab_size\":5", "\"vocab_size\":5,\"hidden_act\":\"relu\""), HasSubstr("hidden_act"));
  EXPECT_THAT(with("\"vocab_size\":5", "\"vocab_size\":6"),
              HasSubstr("the tensor for embedding is 5 x 64 instead of 6 x 64"));
  EXPECT_THAT(with("\"num_hidden_layers\":1", "\"num_hidden_layers\":2"), HasSubstr("no tensor for layers.1"));
  EXPECT_THAT(with("\"hidden_size\":64", "\"hidden_size\":-64"), HasSubstr("hidden_size"));
  std::vector<HfTensor> more = hf_llama();
  more.push_back({"model.layers.0.self_attn.q_norm.weight", {kHd}, 0});
  write_safetensors(folder / "model.safetensors", more);
  EXPECT_THAT(with("\"vocab_size\":5", "\"vocab_size\":5"), HasSubstr("q_norm"));
  write_safetensors(folder / "model.safetensors", hf_llama(), DType::i32);
  EXPECT_THAT(with("\"vocab_size\":5", "\"vocab_size\":5"), HasSubstr("is I32; F32, F16 and BF16 can be read"));
}

TEST(ImportedModel, RefusesWhatWasChanged) {
  const TemporaryFolder folder;
  write_file(folder / "plain", llama_gguf(8).build());
  const ImportedModel model = imported(folder / "plain", folder);
  EXPECT_TRUE(ImportedModel::is_at(model.origin()));
  EXPECT_FALSE(ImportedModel::is_at(folder / "plain"));
  EXPECT_THAT(message_of([&] { open_foreign_model(model.origin()); }), HasSubstr("is imported already"));
  const std::string spec = to_json(model.spec());
  const auto refused = [&](const std::string& types, bool with_head) {
    TensorArchiveWriter writer;
    writer.set_metadata(kBackboneKey, spec);
    writer.set_metadata(kTypesKey, types);
    const std::vector<float> zeros(kV * kD);
    if (with_head) writer.add("head", {kV, kD}, zeros);
    writer.add("embedding", {kV, kD}, zeros);
    writer.save(folder / "changed");
    return message_of([&] { ImportedModel(folder / "changed"); });
  };
  EXPECT_THAT(refused("{}", false), HasSubstr("no tensor"));
  EXPECT_THAT(refused("[]", false), HasSubstr("semfuse.types"));
  EXPECT_THAT(refused(R"({"embedding":{"type":"q8_0","shape":[5,64]}})", false), HasSubstr("embedding"));
  EXPECT_THAT(refused(R"({"embedding":{"type":"q3_k","shape":[5,64]}})", true), HasSubstr("embedding"));
}

}  // namespace
}  // namespace semfuse
