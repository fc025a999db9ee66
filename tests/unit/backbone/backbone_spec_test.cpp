#include "backbone/backbone_spec.h"

#include <gtest/gtest.h>

#include "semfuse/error.h"

namespace semfuse {
namespace {

BackboneSpec small_spec() {
  BackboneSpec spec;
  spec.vocab_size = 512;
  spec.model_width = 64;
  spec.num_layers = 5;
  spec.num_heads = 8;
  spec.num_key_heads = 4;
  spec.head_width = 8;
  spec.hidden_width = 172;
  spec.context = 512;
  spec.tied = true;
  spec.bos = 1;
  spec.eos = {2, 7};
  spec.adds_bos = true;
  spec.source = "llama2.c \"stories\"";
  spec.source_sha256 = "00";
  return spec;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, text.npos) << from;
  return text.replace(place, from.size(), to);
}

TEST(BackboneSpec, ReadsBackWhatItWrites) {
  BackboneSpec spec = small_spec();
  EXPECT_EQ(parse_backbone_spec(to_json(spec), "file"), spec);
  spec.family = BackboneFamily::gpt2;
  spec.norm = BackboneNorm::layer;
  spec.activation = BackboneActivation::gelu_erf;
  spec.positions = BackbonePositions::learned;
  spec.rotary_pairs = RotaryPairs::halves;
  spec.norm_epsilon = 1e-6;
  spec.bos.reset();
  spec.adds_bos = false;
  EXPECT_EQ(parse_backbone_spec(to_json(spec), "file"), spec);
}

TEST(BackboneSpec, RefusesWhatIsNoModel) {
  const std::string good = to_json(small_spec());
  for (const auto& [from, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"\"tied\":true,", ""},
           {"{", "{\"more\":1,"},
           {"\"num_key_heads\":4", "\"num_key_heads\":3"},
           {"\"head_width\":8", "\"head_width\":7"},
           {"\"model_width\":64", "\"model_width\":0"},
           {"\"model_width\":64", "\"model_width\":-64"},
           {"\"model_width\":64", "\"model_width\":1e99"},
           {"\"vocab_size\":512", "\"vocab_size\":18446744073709551615"},
           {"\"family\":\"llama\"", "\"family\":\"gpt2\""},
           {"\"family\":\"llama\"", "\"family\":\"mamba\""},
           {"\"norm\":\"rms\"", "\"norm\":\"layer\""},
           {"\"bos\":1", "\"bos\":512"},
           {"\"bos\":1", "\"bos\":null"},
           {"\"eos\":[2,7]", "\"eos\":[2,600]"},
           {"\"eos\":[2,7]", "\"eos\":2"},
           {"\"rotary_base\":10000", "\"rotary_base\":0"}}) {
    EXPECT_THROW(parse_backbone_spec(with(good, from, to), "file"), Error) << from << " " << to;
  }
}

}  // namespace
}  // namespace semfuse
