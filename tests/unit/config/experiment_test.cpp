#include "semfuse/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <ostream>
#include <sstream>

#include "config/presets.h"
#include "io/file.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Experiment parse(std::string_view toml) {
  return parse_experiment(toml, "c.toml");
}

TEST(Experiment, IsThePapersByDefault) {
  const Experiment experiment = parse("");
  EXPECT_EQ(experiment.seed, 111U);
  EXPECT_EQ(experiment.corpus.held_out, paper_held_out_words());
  EXPECT_EQ(to_toml(experiment), to_toml(preset_experiment("paper-fusion")));
}

TEST(Experiment, ReadsEveryKindOfKey) {
  const Experiment experiment = parse(
      "seed = 7\n[corpus]\ntrain = 10\nheld_out = [\"great\", \"awful\"]\n[features]\ncenters = [0, 0.5, 1]\n"
      "[model]\nattention = \"causal\"\nfusion = false\n[training]\nlearning_rate = 1e-3\nclip_norm = 2\n");
  EXPECT_EQ(experiment.seed, 7U);
  EXPECT_EQ(experiment.corpus.train, 10U);
  EXPECT_THAT(experiment.corpus.held_out, ElementsAre("great", "awful"));
  EXPECT_THAT(experiment.features.centers, ElementsAre(0.0, 0.5, 1.0));
  EXPECT_EQ(experiment.model.attention, AttentionMask::causal);
  EXPECT_FALSE(experiment.model.fusion);
  EXPECT_EQ(experiment.training.learning_rate, 1e-3);
  EXPECT_EQ(experiment.training.clip_norm, 2.0);
  EXPECT_EQ(parse("model.width = 64").model.width, 64U);
  EXPECT_EQ(parse("corpus = { second_clause = 0, max_length = 10 }").corpus.max_length, 10U);
  EXPECT_EQ(parse("model = { width = 64 }").model.width, 64U);
  EXPECT_EQ(parse("\xEF\xBB\xBFseed = 4 # caf\xC3\xA9").seed, 4U);
  EXPECT_TRUE(parse("[corpus]\nheld_out = []").corpus.held_out.empty());
}

TEST(Experiment, PrintsWhatItReadsBackExactly) {
  Experiment experiment = parse("");
  experiment.seed = 9223372036854775807U;
  experiment.corpus.second_clause = 1.0 / 3.0;
  experiment.training.learning_rate = 1.2345678901234567e-7;
  experiment.training.weight_decay = std::nextafter(0.01, 1.0);
  experiment.training.clip_norm = 3.0;
  experiment.features.centers = {0.1, std::nextafter(0.3, 1.0), 1.0};
  experiment.corpus.held_out = {};
  const Experiment again = parse(to_toml(experiment));
  EXPECT_EQ(again.seed, experiment.seed);
  EXPECT_EQ(again.corpus.second_clause, experiment.corpus.second_clause);
  EXPECT_EQ(again.training.learning_rate, experiment.training.learning_rate);
  EXPECT_EQ(again.training.weight_decay, experiment.training.weight_decay);
  EXPECT_EQ(again.features.centers, experiment.features.centers);
  EXPECT_EQ(to_toml(again), to_toml(experiment));
  EXPECT_THAT(to_toml(experiment), AllOf(HasSubstr("clip_norm = 3.0 "), HasSubstr("held_out = [] ")));
}

TEST(Experiment, ResolvesRandomHeldOutWordsByTheSeed) {
  Experiment experiment = parse("seed = 5\n[corpus]\nheld_out = \"random\"");
  EXPECT_EQ(synthetic_corpus_options(experiment).held_out, random_held_out_words(5));
  set_key(experiment, "seed=6");
  EXPECT_EQ(synthetic_corpus_options(experiment).held_out, random_held_out_words(6));
  EXPECT_EQ(synthetic_corpus_options(experiment).seed, 6U);
  const Experiment resolved = parse(to_toml(experiment));
  EXPECT_FALSE(resolved.corpus.random_held_out);
  EXPECT_EQ(resolved.corpus.held_out, random_held_out_words(6));
  set_key(experiment, "corpus.held_out=random-classes");
  EXPECT_FALSE(experiment.corpus.random_held_out);
  EXPECT_EQ(synthetic_corpus_options(experiment).held_out, random_held_out_classes(6));
  EXPECT_EQ(parse(to_toml(experiment)).corpus.held_out, random_held_out_classes(6));
}

TEST(Experiment, VectorsNeedWordsOfTextsOfOnesOwn) {
  const auto misfit = [](const std::string& more) -> std::string {
    try {
      parse("from = \"open-text\"\n" + more);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(misfit(""), "");
  EXPECT_THAT(misfit("[text]\ntokenizer = \"pieces\"\n"), HasSubstr("features.vectors needs"));
  EXPECT_THAT(misfit("[data]\nkind = \"synthetic\"\n"), HasSubstr("features.vectors is for texts"));
  EXPECT_THAT(misfit("[features]\nvectors = \"none\"\n"), HasSubstr("need features"));
  EXPECT_THAT(misfit("[training]\npolarity_jitter = 0.5\n"), HasSubstr("training.polarity_jitter is for"));
  EXPECT_THAT(misfit("[features]\nvector_width = 0\n"), HasSubstr("features.vector_width is 0"));
  EXPECT_THAT(misfit("[data]\nheld_out = [\"two words\"]\n"), HasSubstr("data.held_out cannot be used"));
  const Experiment experiment =
      parse("from = \"open-text\"\n[data]\nheld_out = [\"great\"]\n[features]\nvectors = \"f.txt\"\n");
  EXPECT_EQ(parse(to_toml(experiment)).data.held_out, std::vector<std::string>{"great"});
  EXPECT_EQ(parse(to_toml(experiment)).vectors, "f.txt");
}

TEST(Experiment, PresetsListEveryKeyAsPrinted) {
  EXPECT_THAT(preset_names(), ElementsAre("adapter", "causal-baseline", "causal-fusion", "everyday", "open-text",
                                          "paper-baseline", "paper-fusion", "semfuse", "text", "text-features"));
  for (const EmbeddedText& preset : embedded_presets()) {
    const Experiment experiment = preset_experiment(preset.name);
    EXPECT_NO_THROW(validate(experiment));
    const std::string text(preset.text), all = to_toml(experiment);
    if (text.find("\nfrom = ") == text.npos) {
      EXPECT_THAT(text, EndsWith("\n" + all)) << preset.name;
      continue;
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool is_setting = !line.empty() && line[0] != '#' && !line.starts_with("from");
      EXPECT_TRUE(!is_setting || all.find(line + "\n") != all.npos) << line;
    }
  }
  Experiment baseline = preset_experiment("paper-fusion");
  baseline.model.fusion = false;
  EXPECT_EQ(to_toml(baseline), to_toml(preset_experiment("paper-baseline")));
}

TEST(Experiment, BeginsWithAPreset) {
  Experiment expected = preset_experiment("semfuse");
  expected.model.width = 64;
  EXPECT_EQ(to_toml(parse_experiment("from = \"semfuse\"\n[model]\nwidth = 64\n", "c.toml")), to_toml(expected));
  Experiment fusion = preset_experiment("paper-fusion");
  fusion.features.bank = FeatureSet::semfuse;
  fusion.model.attention = AttentionMask::causal;
  fusion.training.count_end = false;
  EXPECT_EQ(to_toml(fusion), to_toml(preset_experiment("causal-fusion")));
}

TEST(Experiment, ALexiconIsBesideTheFileThatNamesIt) {
  EXPECT_EQ(load_lexicon(Experiment()).entries(), synthetic_lexicon().entries());
  const TemporaryFolder folder;
  std::ofstream(folder / "words.tsv") << "word\tclass\nBob\tsubject\n";
  std::ofstream(folder / "config.toml") << "[features]\nlexicon = \"words.tsv\"\n";
  const Experiment experiment = load_experiment(folder / "config.toml");
  EXPECT_EQ(experiment.lexicon, folder / "words.tsv");
  EXPECT_EQ(load_lexicon(experiment).entries().size(), 1U);
  EXPECT_EQ(parse_experiment("[features]\nlexicon = \"words.tsv\"\n", "c.toml").lexicon, "words.tsv");
}

TEST(Experiment, FilesOfDataAreBesideTheFileThatNamesThem) {
  const TemporaryFolder folder;
  std::ofstream(folder / "config.toml")
      << "from = \"text\"\n[data]\ntrain = [\"a.tsv\", \"/b.tsv\"]\nval = \"c.tsv\"\n";
  const Experiment experiment = load_experiment(folder / "config.toml");
  EXPECT_THAT(experiment.data.train, ElementsAre(folder / "a.tsv", "/b.tsv"));
  EXPECT_THAT(experiment.data.val, ElementsAre(folder / "c.tsv"));
  // Whatever folder the program runs in: the name goes into the configuration of a run.
  std::filesystem::create_directory(folder / "sub");
  std::ofstream(folder / "sub/config.toml") << "from = \"text\"\n[data]\ntrain = \"../a.tsv\"\n";
  const std::filesystem::path relative = std::filesystem::relative(folder / "sub/config.toml");
  EXPECT_THAT(load_experiment(relative).data.train, ElementsAre(folder / "a.tsv"));
  EXPECT_THAT(to_toml(experiment), AllOf(HasSubstr("[data]"), HasSubstr("[text]"), Not(HasSubstr("[corpus]"))));
  EXPECT_THAT(to_toml(Experiment()), AllOf(HasSubstr("[corpus]"), Not(HasSubstr("[data]"))));
  EXPECT_EQ(to_toml(parse(to_toml(experiment))), to_toml(experiment));
}

TEST(Experiment, SaysHowFilesAreRead) {
  Experiment experiment = preset_experiment("text");
  set_key(experiment, "data.train=news");
  set_key(experiment, "data.format=csv");
  set_key(experiment, "data.heading=label,title,text");
  EXPECT_THAT(experiment.data.heading, ElementsAre("label", "title", "text"));
  EXPECT_EQ(parse(to_toml(experiment)).data.format, "csv");
  EXPECT_EQ(parse(to_toml(experiment)).data.heading, experiment.data.heading);
  EXPECT_THAT([&] { set_key(experiment, "data.format=xml"); },
              testing::ThrowsMessage<Error>(HasSubstr("data.format is \"xml\"; it must be \"txt\", \"tsv\"")));
  EXPECT_THROW(set_key(experiment, "data.heading=[\"a\", \"\"]"), Error);
  EXPECT_NO_THROW(set_key(experiment, "data.format=\"\""));
}

TEST(Experiment, SaysWhatMovesTheWeights) {
  Experiment experiment = preset_experiment("paper-fusion");
  EXPECT_THAT(to_toml(experiment), Not(HasSubstr("optimizer")));  // Models of before say the same bytes.
  set_key(experiment, "training.optimizer=muon");
  EXPECT_EQ(parse(to_toml(experiment)).training.optimizer, OptimizerKind::muon);
  EXPECT_THROW(set_key(experiment, "training.optimizer=sgd"), Error);
  Experiment adapter = preset_experiment("adapter");
  adapter.adapter.backbone = "model";
  EXPECT_NO_THROW(validate(adapter));
  adapter.training.optimizer = OptimizerKind::muon;
  EXPECT_THAT([&] { validate(adapter); },
              testing::ThrowsMessage<Error>(HasSubstr("training.optimizer is for models that are trained whole")));
}

TEST(Experiment, HonestPresetsReadOnlyThePast) {
  for (const std::string name : {"causal-baseline", "causal-fusion", "semfuse"}) {
    const Experiment experiment = preset_experiment(name);
    EXPECT_EQ(experiment.model.attention, AttentionMask::causal) << name;
    EXPECT_FALSE(experiment.training.count_end) << name;
    if (experiment.model.fusion) {
      EXPECT_EQ(experiment.features.bank, name == "semfuse" ? FeatureSet::open : FeatureSet::semfuse) << name;
    }
    EXPECT_EQ(experiment.corpus.held_out, paper_held_out_words()) << name;
  }
  EXPECT_TRUE(preset_experiment("semfuse").model.open_vocabulary);
}

TEST(Experiment, NamesThePresetsWhenOneIsUnknown) {
  try {
    preset_experiment("paper-fuson");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "unknown preset \"paper-fuson\"; presets are adapter, causal-baseline, causal-fusion, everyday, "
                 "open-text, paper-baseline, paper-fusion, "
                 "semfuse, text, text-features; did you mean \"paper-fusion\"?");
  }
}

TEST(Experiment, LoadsAFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "experiment_test.toml";
  write_atomically(path, "seed = 3\n");
  EXPECT_EQ(load_experiment(path).seed, 3U);
  write_atomically(path, "seed = 3\nsed = 4\n");
  try {
    load_experiment(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.what(), path.string() + ":2: unknown key \"sed\"; did you mean \"seed\"?");
  }
  write_atomically(path, std::string((1 << 20) + 1, '\n'));
  EXPECT_THROW(load_experiment(path), Error);
  std::filesystem::remove(path);
  EXPECT_THROW(load_experiment(path), Error);
}

struct BadToml {
  const char* name;
  std::string toml;
  std::string message;
};

void PrintTo(const BadToml& bad, std::ostream* out) {
  *out << bad.name;
}

class ExperimentRefusal : public testing::TestWithParam<BadToml> {};

TEST_P(ExperimentRefusal, NamesTheKeyAndTheLine) {
  try {
    parse(GetParam().toml);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(StartsWith("c.toml:"), HasSubstr(GetParam().message), Not(HasSubstr("\n"))));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ExperimentRefusal,
    testing::Values(
        BadToml{"misspelt_key", "# one\n[model]\nwidht = 3\n",
                "c.toml:3: unknown key \"model.widht\"; did you mean \"model.width\"?"},
        BadToml{"misspelt_top_key", "sead = 3", "c.toml:1: unknown key \"sead\"; did you mean \"seed\"?"},
        BadToml{"key_in_wrong_section", "[training]\nwidth = 3",
                "c.toml:2: unknown key \"training.width\"; did you mean \"model.width\"?"},
        BadToml{"key_without_section", "epochs = 3",
                "c.toml:1: unknown key \"epochs\"; did you mean \"training.epochs\"?"},
        BadToml{"from_nowhere", "\nfrom = \"semfus\"", "c.toml:2: unknown preset \"semfus\""},
        BadToml{"from_number", "from = 3", "c.toml:1: from wants the name of a preset"},
        BadToml{"empty_lexicon", "[features]\nlexicon = \"\"", "c.toml:2: features.lexicon is empty"},
        BadToml{"number_lexicon", "[features]\nlexicon = 3", "c.toml:2: features.lexicon wants the name"},
        BadToml{"strange_key", "[model]\nxyzzyplugh = 3", "c.toml:2: unknown key \"model.xyzzyplugh\"; a preset shows"},
        BadToml{"misspelt_section", "[modle]\nwidth = 3",
                "c.toml:1: unknown section \"modle\"; did you mean \"model\"?"},
        BadToml{"empty_unknown_section", "\n[qwertz]\n",
                "c.toml:2: unknown section \"qwertz\"; sections are adapter, corpus, data, features, model, text, "
                "training"},
        BadToml{"nameless_section", "[\"\"]\nseed = 1", "c.toml:1: unknown section \"\""},
        BadToml{"nameless_key", "\"\" = 1", "unknown key \"\""},
        BadToml{"nameless_key_in_section", "[model]\n\"\" = 1", "c.toml:2: unknown key \"model.\""},
        BadToml{"quoted_path", "\"model.width\" = 3",
                "c.toml:1: unknown key \"model.width\"; write width below [model]"},
        BadToml{"newline_in_key", "\"a\\nb\" = 3", "unknown key \"a\\nb\""},
        BadToml{"section_as_value", "model = 3", "c.toml:1: \"model\" is a section; write [model]"},
        BadToml{"section_as_array", "[[model]]\nwidth = 3", "\"model\" is a section"},
        BadToml{"table_as_value", "[model.width]\na = 3", "model.width wants a whole number, got a table"},
        BadToml{"not_toml", "seed = 1\n[model\n", "c.toml:2:7: not valid TOML"},
        BadToml{"dot_first_in_header", "[.a]", "c.toml: not valid TOML; compare"},
        BadToml{"key_twice", "seed = 1\nseed = 2\n", "c.toml:2:"},
        BadToml{"zero_byte", std::string("seed = 1\0", 9), "not valid TOML"},
        BadToml{"bad_utf8", "\nseed = \"\xFF\"", "c.toml:2: not valid TOML: not UTF-8"},
        BadToml{"integer_too_large", "seed = 9223372036854775808", "not valid TOML"},
        BadToml{"string_for_whole", "[model]\nwidth = \"big\"",
                "c.toml:2: model.width wants a whole number, got the string \"big\""},
        BadToml{"float_for_whole", "[model]\nwidth = 128.0", "model.width wants a whole number, got the number 128.0"},
        BadToml{"bool_for_number", "[model]\ndropout = true", "model.dropout wants a number, got true"},
        BadToml{"date_for_number", "[model]\ndropout = 2020-01-01", "model.dropout wants a number, got a date or time"},
        BadToml{"array_for_number", "[model]\ndropout = [1]", "model.dropout wants a number, got an array of 1 value"},
        BadToml{"number_for_bool", "[model]\nfusion = 1", "model.fusion wants true or false, got the number 1"},
        BadToml{"wrong_choice", "[model]\nattention = \"casual\"",
                "model.attention wants \"causal\" or \"bidirectional\", got the string \"casual\"; did you mean "
                "\"causal\"?"},
        BadToml{"number_for_choice", "[model]\nattention = 1", "model.attention wants \"causal\" or"},
        BadToml{"two_centers", "[features]\ncenters = [0.1, 0.2]", "features.centers wants an array of 3 numbers"},
        BadToml{"text_centers", "[features]\ncenters = [0.1, \"x\", 0.2]",
                "features.centers wants an array of 3 numbers"},
        BadToml{"centers_fall", "[features]\ncenters = [0.3, 0.2, 1]", "features.centers is [0.3, 0.2, 1]"},
        BadToml{"centers_nan", "[features]\ncenters = [nan, 0.2, 1]", "features.centers is [nan, 0.2, 1]"},
        BadToml{"held_out_number", "[corpus]\nheld_out = 3", "corpus.held_out wants an array of words or \"random\""},
        BadToml{"held_out_numbers", "[corpus]\nheld_out = [3]",
                "corpus.held_out wants an array of words or \"random\""},
        BadToml{"held_out_unknown", "[corpus]\nheld_out = [\"awfull\"]", "did you mean \"awful\"?"},
        BadToml{"held_out_twice", "[corpus]\nheld_out = [\"awful\", \"awful\"]", "\"awful\" appears twice"},
        BadToml{"held_out_all", "[corpus]\nheld_out = [\"bad\", \"poor\", \"terrible\", \"unpleasant\", \"awful\"]",
                "c.toml:2: corpus.held_out "},
        BadToml{"held_out_newline", "[corpus]\nheld_out = [\"a\\nb\"]",
                "corpus.held_out has \"a\\nb\", which is no word"},
        BadToml{"held_out_foreign", "[corpus]\nheld_out = [\"caf\xC3\xA9\"]",
                "\"caf\xC3\xA9\" is not one of its subjects"},
        BadToml{"foreign_key", "\xC3\xA9 = 3", "c.toml:1:1: not valid TOML"},
        BadToml{"foreign_letter_in_header", "[e\xC9\xB4l]", "c.toml:1:3: not valid TOML"},
        BadToml{"negative", "[model]\nwidth = -2", "c.toml:2: model.width is -2; it must be a whole number from 2"},
        BadToml{"negative_seed", "seed = -1", "seed is -1; it must be a whole number from 0"},
        BadToml{"no_layers", "[model]\nlayers = 0", "model.layers is 0"},
        BadToml{"no_heads", "[model]\nheads = 0", "model.heads is 0"},
        BadToml{"no_train", "[corpus]\ntrain = 0", "corpus.train is 0"},
        BadToml{"no_val", "[corpus]\nval = 0", "corpus.val is 0"},
        BadToml{"no_batch", "[training]\nbatch = 0", "training.batch is 0"},
        BadToml{"no_epochs", "[training]\nepochs = 0", "training.epochs is 0"},
        BadToml{"huge_train", "[corpus]\ntrain = 9223372036854775807", "corpus.train is 9223372036854775807"},
        BadToml{"dropout_one", "[model]\ndropout = 1", "model.dropout is 1; it must be in [0, 1)"},
        BadToml{"dropout_nearly_one", "[model]\ndropout = 0.9999999999", "single precision 1; it must be in [0, 1)"},
        BadToml{"rate_vanishes", "[training]\nlearning_rate = 1e-60", "in single precision 0; it must be in (0, 10]"},
        BadToml{"rate_nan", "[training]\nlearning_rate = nan", "training.learning_rate is nan; it must be in (0, 10]"},
        BadToml{"rate_inf", "[training]\nlearning_rate = inf", "training.learning_rate is inf"},
        BadToml{"rate_zero", "[training]\nlearning_rate = 0", "training.learning_rate is 0"},
        BadToml{"clip_inf", "[training]\nclip_norm = inf", "training.clip_norm is inf"},
        BadToml{"beta_one", "[training]\nbeta2 = 1.0", "training.beta2 is 1; it must be in [0, 1)"},
        BadToml{"base_one", "[features]\nkernel_base = 1.0", "features.kernel_base is 1; it must be in (0, 1)"},
        BadToml{"heads_do_not_divide", "[model]\n\nheads = 3",
                "c.toml:3: model.width is 128, not a multiple of model.heads, 3"},
        BadToml{"width_does_not_divide", "[model]\nwidth = 130", "c.toml:2: model.width is 130, not a multiple"},
        BadToml{"odd_width", "[model]\nwidth = 9\nheads = 3", "c.toml:2: model.width is 9; it must be even"},
        BadToml{"distance_both_ways", "[model]\ndistance_bias = true",
                "c.toml:2: model.distance_bias needs causal attention"},
        BadToml{"short_length", "[corpus]\nmax_length = 17",
                "c.toml:2: corpus.max_length is 17, but the corpus has sentences of 18"},
        BadToml{"huge_model", "[model]\nwidth = 1048576", "c.toml:2: model.width 1048576"},
        BadToml{"many_layers", "[model]\nlayers = 1024\nwidth = 4096", "parameters, more than 2^31"},
        BadToml{"huge_step", "[corpus]\nmax_length = 65536", "corpus.max_length 65536"},
        BadToml{"deep_arrays", "a = " + std::string(100000, '['), "not valid TOML"},
        BadToml{"deep_tables", "a" + std::string(2001, '.'), "more than 2000 dots"},
        BadToml{"too_large", std::string((1 << 20) + 1, '#'), "larger than 1048576 bytes"}),
    [](const auto& refusal) { return refusal.param.name; });

// A step works through its batch in chunks, so a large batch needs no more memory.
TEST(Experiment, TakesALargeBatch) {
  EXPECT_EQ(parse_experiment("[training]\nbatch = 10000000", "c.toml").training.batch, 10000000u);
}

// As deep as the limit on dots allows: must not exhaust the stack.
TEST(Experiment, SurvivesTheDeepestTables) {
  std::string deep = "a";
  for (int i = 0; i < 1900; ++i) deep += ".a";
  EXPECT_THROW(parse(deep + " = 1"), Error);
  EXPECT_THROW(parse("[" + deep + "]"), Error);
}

TEST(SetKey, TakesTomlBareWordsAndLists) {
  Experiment experiment;
  set_key(experiment, "model.width=256");
  set_key(experiment, " model.heads = 8 ");
  set_key(experiment, "model.attention=causal");
  set_key(experiment, "model.fusion=false");
  set_key(experiment, "training.learning_rate=1e-3");
  set_key(experiment, "features.centers=0.1, 0.2,0.3");
  EXPECT_EQ(experiment.model.width, 256U);
  EXPECT_EQ(experiment.model.heads, 8U);
  EXPECT_EQ(experiment.model.attention, AttentionMask::causal);
  EXPECT_FALSE(experiment.model.fusion);
  EXPECT_EQ(experiment.training.learning_rate, 1e-3);
  EXPECT_THAT(experiment.features.centers, ElementsAre(0.1, 0.2, 0.3));
  set_key(experiment, "model.attention=\"bidirectional\"");
  EXPECT_EQ(experiment.model.attention, AttentionMask::bidirectional);
  set_key(experiment, "corpus.held_out=great, awful");
  EXPECT_THAT(experiment.corpus.held_out, ElementsAre("great", "awful"));
  set_key(experiment, "corpus.held_out=good");
  EXPECT_THAT(experiment.corpus.held_out, ElementsAre("good"));
  set_key(experiment,
          "model.knobs=topic: distribution of column topic over sport, the world,kind: probability of column label");
  ASSERT_EQ(experiment.model.knobs.size(), 2U);
  EXPECT_THAT(to_string(experiment.model.knobs[0]), HasSubstr("over sport, the world"));
  set_key(experiment, "corpus.held_out=[\"bad\"]");
  EXPECT_THAT(experiment.corpus.held_out, ElementsAre("bad"));
  set_key(experiment, "corpus.held_out=random");
  EXPECT_TRUE(experiment.corpus.random_held_out);
  set_key(experiment, "corpus.held_out=[]");
  EXPECT_FALSE(experiment.corpus.random_held_out);
  EXPECT_TRUE(experiment.corpus.held_out.empty());
}

TEST(SetKey, LeavesWhetherKeysFitToValidate) {
  Experiment experiment;
  set_key(experiment, "model.width=96");
  set_key(experiment, "model.heads=5");
  EXPECT_THROW(validate(experiment), Error);
  set_key(experiment, "model.heads=6");
  EXPECT_NO_THROW(validate(experiment));
}

std::string set_refusal(std::string_view assignment) {
  Experiment experiment;
  const std::string before = to_toml(experiment);
  try {
    set_key(experiment, assignment);
  } catch (const Error& error) {
    EXPECT_EQ(to_toml(experiment), before);
    return error.what();
  }
  return "accepted";
}

TEST(SetKey, RefusesByName) {
  EXPECT_EQ(set_refusal("model.widht=3"), "unknown key \"model.widht\"; did you mean \"model.width\"?");
  EXPECT_EQ(set_refusal("model.width=big"), "model.width wants a whole number, got the string \"big\"");
  EXPECT_EQ(set_refusal("model.width"), "model.width has no value; write model.width=VALUE");
  EXPECT_EQ(set_refusal("model.width= "), "model.width has no value; write model.width=VALUE");
  EXPECT_THAT(set_refusal(""), HasSubstr("unknown key \"\""));
  EXPECT_THAT(set_refusal("=3"), HasSubstr("unknown key \"\""));
  EXPECT_THAT(set_refusal("model=3"), HasSubstr("unknown key \"model\""));
  EXPECT_THAT(set_refusal("model.width=0"), HasSubstr("model.width is 0; it must be"));
  EXPECT_THAT(set_refusal("model.width=1\nseed=2"), HasSubstr("wants a whole number, got the string \"1\\nseed=2\""));
  EXPECT_THAT(set_refusal("training.learning_rate=0,001"), HasSubstr("wants a number, got an array of 2 values"));
  EXPECT_THAT(set_refusal("corpus.held_out=great,awfull"), HasSubstr("did you mean \"awful\"?"));
  EXPECT_THAT(set_refusal("model.width=" + std::string(100000, '[')), HasSubstr("model.width wants a whole number"));
}

TEST(Validate, KnowsTheLongestSentence) {
  for (const double second_clause : {0.0, 1.0}) {
    std::size_t longest = 0;
    for (const Sentence& sentence :
         make_synthetic_corpus({.train = 50, .val = 0, .second_clause = second_clause, .held_out = {}}).train) {
      longest = std::max(longest, sentence.size() + 2);
    }
    Experiment experiment;
    experiment.corpus.second_clause = second_clause;
    experiment.corpus.max_length = longest;
    EXPECT_NO_THROW(validate(experiment));
    experiment.corpus.max_length = longest - 1;
    EXPECT_THROW(validate(experiment), Error);
  }
}

TEST(Validate, RefusesWhatOnlyCodeCanSet) {
  Experiment experiment;
  experiment.seed = 1ULL << 63;
  EXPECT_THROW(validate(experiment), Error);
  experiment = {};
  experiment.model.heads = 0;
  EXPECT_THROW(validate(experiment), Error);
  experiment = {};
  experiment.model.width = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW(validate(experiment), Error);
  experiment = {};
  experiment.training.epsilon = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(validate(experiment), Error);
}

}  // namespace
}  // namespace semfuse
