#include "config/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "config/key_kinds.h"
#include "data/held_out_words.h"
#include "data/table_reader.h"
#include "features/word_vectors.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

// NOLINTBEGIN(bugprone-macro-parentheses): a member's name takes none.
#define SEMFUSE_FIELD(path)              \
  [](Experiment & experiment) -> auto& { \
    return experiment.path;              \
  }
// NOLINTEND(bugprone-macro-parentheses)

Key format_key(std::string_view explanation) {
  Key key = keys::text("data", "format", SEMFUSE_FIELD(data.format), explanation);
  key.check = [](const Experiment& experiment) -> Complaint {
    const std::string& format = experiment.data.format;
    if (format.empty()) return std::nullopt;
    try {
      parse_table_format(format);
    } catch (const Error&) {
      return fmt::format("is {}; it must be \"txt\", \"tsv\", \"csv\", \"jsonl\", or \"\" to go by the names",
                         quoted_text(format));
    }
    return std::nullopt;
  };
  return key;
}

Key centers_key(std::string_view explanation) {
  Key key = keys::new_key("features", "centers", explanation);
  key.get = [](const Experiment& experiment) {
    const auto& centers = experiment.features.centers;
    return Value{std::vector<Value>{{centers[0]}, {centers[1]}, {centers[2]}}};
  };
  key.assign = [](Experiment& experiment, const Value& value) -> Complaint {
    auto centers = experiment.features.centers;
    const auto* list = value.as<std::vector<Value>>();
    if (list == nullptr || list->size() != centers.size()) return keys::wants("an array of 3 numbers", value);
    for (std::size_t i = 0; i < centers.size(); ++i) {
      const std::optional<double> center = keys::number_of((*list)[i]);
      if (!center) return keys::wants("an array of 3 numbers", (*list)[i]);
      centers[i] = *center;
    }
    experiment.features.centers = centers;
    return std::nullopt;
  };
  key.check = [](const Experiment& experiment) -> Complaint {
    const auto& [low, medium, high] = experiment.features.centers;
    if (0.0 <= low && low < medium && medium < high && high <= 1.0) return std::nullopt;
    return fmt::format("is [{}, {}, {}]; it must be three numbers in [0, 1], each above the one before", low, medium,
                       high);
  };
  return key;
}

Key held_out_key(std::string_view explanation) {
  static constexpr std::string_view kWanted = "an array of words or \"random\" or \"random-classes\"";
  Key key = keys::new_key("corpus", "held_out", explanation);
  key.get = [](const Experiment& experiment) {
    std::vector<Value> words;
    for (const std::string& word : synthetic_corpus_options(experiment).held_out) words.push_back({word});
    return Value{std::move(words)};
  };
  key.assign = [](Experiment& experiment, const Value& value) -> Complaint {
    const auto* text = value.as<std::string>();
    const auto* list = value.as<std::vector<Value>>();
    if (text == nullptr && list == nullptr) return keys::wants(kWanted, value);
    std::vector<std::string> words;
    const bool random = text != nullptr && *text == "random";
    const bool classes = text != nullptr && *text == "random-classes";
    if (text != nullptr && !random && !classes) words.push_back(*text);
    for (const Value& item : list == nullptr ? std::vector<Value>() : *list) {
      const auto* word = item.as<std::string>();
      if (word == nullptr) return keys::wants(kWanted, item);
      words.push_back(*word);
    }
    experiment.corpus.random_held_out = random;
    experiment.corpus.random_held_out_classes = classes;
    experiment.corpus.held_out = std::move(words);
    return std::nullopt;
  };
  key.check = [](const Experiment& experiment) -> Complaint {
    for (const std::string& word : experiment.corpus.held_out) {
      // So that the message below, which shows the word as it is, stays in one line.
      if (quoted_text(word) != "\"" + word + "\"") return fmt::format("has {}, which is no word", quoted_text(word));
    }
    try {
      make_synthetic_corpus({.train = 0, .val = 0, .held_out = experiment.corpus.held_out});
    } catch (const Error& error) {
      return fmt::format("cannot be used: {}", error.what());
    }
    return std::nullopt;
  };
  return key;
}

Key held_out_texts_key(std::string_view explanation) {
  Key key = keys::texts("data", "held_out", SEMFUSE_FIELD(data.held_out), explanation);
  key.check = [](const Experiment& experiment) -> Complaint {
    try {
      const HeldOutWords checked(experiment.data.held_out);
    } catch (const Error& error) {
      return fmt::format("cannot be used: {}", error.what());
    }
    return std::nullopt;
  };
  return key;
}

Key knobs_key(std::string_view explanation) {
  static constexpr std::string_view kWanted = "an array of texts such as \"polarity: probability of polarity\"";
  Key key = keys::new_key("model", "knobs", explanation);
  key.get = [](const Experiment& experiment) {
    std::vector<Value> knobs;
    for (const Knob& knob : experiment.model.knobs) knobs.push_back({to_string(knob)});
    return Value{std::move(knobs)};
  };
  key.assign = [](Experiment& experiment, const Value& value) -> Complaint {
    const auto* list = value.as<std::vector<Value>>();
    const auto* single = value.as<std::string>();
    if (list == nullptr && single == nullptr) return keys::wants(kWanted, value);
    std::vector<Knob> knobs;
    for (const Value& item : list == nullptr ? std::vector<Value>{value} : *list) {
      const auto* text = item.as<std::string>();
      if (text == nullptr) return keys::wants(kWanted, item);
      try {
        knobs.push_back(parse_knob(*text));
      } catch (const Error& error) {
        return fmt::format("cannot be used: {}", error.what());
      }
    }
    experiment.model.knobs = std::move(knobs);
    return std::nullopt;
  };
  key.check = [](const Experiment& experiment) -> Complaint {
    try {
      check_knobs(experiment.model.knobs);
    } catch (const Error& error) {
      return fmt::format("cannot be used: {}", error.what());
    }
    return std::nullopt;
  };
  return key;
}

std::vector<Key> make_keys() {
  using namespace keys;
  constexpr std::uint64_t kMaxSeed = std::numeric_limits<std::int64_t>::max();  // TOML has no larger number.
  constexpr std::uint64_t kMaxSentences = 10'000'000;
  constexpr std::uint64_t kMaxWidth = 1 << 20;
  return {
      whole_number("", "seed", 0, kMaxSeed, SEMFUSE_FIELD(seed), "Decides corpus, first weights, order and dropout."),
      text("", "init", SEMFUSE_FIELD(init), "A model to go on from: its weights, tokenizer and features."),

      whole_number("corpus", "train", 1, kMaxSentences, SEMFUSE_FIELD(corpus.train), "Training sentences."),
      whole_number("corpus", "val", 1, kMaxSentences, SEMFUSE_FIELD(corpus.val), "Validation sentences."),
      number("corpus", "second_clause", {'[', 0, 1, ']'}, SEMFUSE_FIELD(corpus.second_clause),
             "Probability of a second clause."),
      whole_number("corpus", "max_length", 3, 65536, SEMFUSE_FIELD(corpus.max_length),
                   "Most tokens of a sequence, <bos> and <eos> included."),
      held_out_key("Words never drawn in training; \"random\": six adjectives, \"random-classes\": one a class."),

      choice("data", "kind", std::array{DataKind::synthetic, DataKind::files}, SEMFUSE_FIELD(data.kind),
             "\"synthetic\": the paper's corpus; \"files\": texts of one's own."),
      texts("data", "train", SEMFUSE_FIELD(data.train),
            "Files: .txt, .tsv, .csv, .jsonl, also .gz or .zst, beside this file; or \"everyday\", which semfuse "
            "carries."),
      texts("data", "val", SEMFUSE_FIELD(data.val), "Files to measure with; []: some of the training texts."),
      format_key("\"txt\", \"tsv\", \"csv\" or \"jsonl\", for files whose names do not say; \"\": by their names."),
      texts("data", "heading", SEMFUSE_FIELD(data.heading),
            "Names of the columns, for tsv and csv without a line of them."),
      text("data", "text", SEMFUSE_FIELD(data.text), "Column of the texts; \"\": found by its name."),
      texts("data", "labels", SEMFUSE_FIELD(data.labels), "Columns to make knobs of; []: all that can be one."),
      held_out_texts_key("Words whose texts are kept out of training, to be measured with; []: none."),
      number("data", "val_share", {'[', 0, 1, ')'}, SEMFUSE_FIELD(data.val_share),
             "Share of the training texts to measure with, if val is []."),
      number("data", "judge_share", {'[', 0, 1, ')'}, SEMFUSE_FIELD(data.judge_share),
             "Share of the labelled training texts that judges are trained on, and the model is not."),
      whole_number("data", "max_length", 3, 65536, SEMFUSE_FIELD(data.max_length),
                   "Most tokens of a sequence, <bos> and <eos> included."),
      choice("data", "longer", std::array{LongTexts::split, LongTexts::cut}, SEMFUSE_FIELD(data.longer),
             "Of a longer text: \"split\": it becomes several; \"cut\": its beginning stays."),
      boolean("data", "skip_bad", SEMFUSE_FIELD(data.skip_bad), "Leave out rows at fault instead of refusing them."),
      text("data", "fingerprint", SEMFUSE_FIELD(data.fingerprint), "Of the files as they were; a run fills it in."),

      choice("text", "tokenizer", std::array{TokenizerKind::words, TokenizerKind::pieces, TokenizerKind::bytes},
             SEMFUSE_FIELD(text.tokenizer), "\"words\", \"pieces\" (of words) or \"bytes\"."),
      whole_number("text", "vocabulary", Tokenizer::kSmallestSize, std::uint64_t{1} << 20,
                   SEMFUSE_FIELD(text.vocabulary), "Most tokens, of words and pieces."),
      boolean("text", "leading_blank", SEMFUSE_FIELD(text.leading_blank),
              "Read a text as if a blank stood before it, so that its first word is the token that it is elsewhere."),

      source("features", "lexicon", "synthetic", SEMFUSE_FIELD(lexicon),
             "What words mean: \"synthetic\", \"english\", \"none\", or a TSV file beside this one."),
      choice(
          "features", "bank", kFeatureSets, SEMFUSE_FIELD(features.bank),
          "\"paper\"; \"semfuse\": no feature looks ahead; \"open\": and what is 0 has no degree; \"natural\": of any "
          "text; \"none\": no features."),
      source("features", "declaration", "english", SEMFUSE_FIELD(declaration),
             "Which features of natural text there are: \"english\", or a .bank file."),
      source("features", "tagger", "english", SEMFUSE_FIELD(tagger),
             "What finds their parts of speech: \"english\", \"none\", or a .tagger file."),
      source("features", "vectors", "data", SEMFUSE_FIELD(vectors),
             "Dense vectors of words: \"none\", \"data\" (trained on the training texts), or a file of other texts."),
      whole_number("features", "vector_width", 1, WordVectors::kMaxWidth, SEMFUSE_FIELD(vector_width),
                   "Numbers of such a vector."),
      choice("features", "kernel",
             std::array{MembershipKernel::power, MembershipKernel::triangular, MembershipKernel::gaussian},
             SEMFUSE_FIELD(features.kernel), "Membership: \"power\", \"triangular\" or \"gaussian\"."),
      number("features", "kernel_base", {'(', 0, 1, ')'}, SEMFUSE_FIELD(features.kernel_base),
             "Base b of the power kernel b^(|x - c| / bandwidth)."),
      centers_key("Centres c of low, medium and high."),
      number("features", "bandwidth", {'(', 0, 1e6, ']'}, SEMFUSE_FIELD(features.bandwidth), "Width of a membership."),
      boolean("features", "learn_kernel", SEMFUSE_FIELD(features.learn_kernel),
              "Train centres and widths, of each attribute its own, from these on."),
      number("features", "exclamation_nudge", {'[', 0, 1, ']'}, SEMFUSE_FIELD(features.exclamation_nudge),
             "Added to every strength when the sentence ends in \"!\"; the paper's bank only."),

      text("adapter", "backbone", SEMFUSE_FIELD(adapter.backbone),
           "An imported model that stays as it is; what is trained is beside it."),
      whole_number("adapter", "rank", 0, 256, SEMFUSE_FIELD(adapter.rank),
                   "Of the low-rank updates of attention and feed-forward; 0: requests enter at the embedding alone."),

      whole_number("model", "width", 2, kMaxWidth, SEMFUSE_FIELD(model.width),
                   "Size of a token's vector; even and a multiple of heads."),
      whole_number("model", "layers", 1, 1024, SEMFUSE_FIELD(model.layers), "Encoder layers."),
      whole_number("model", "heads", 1, kMaxWidth, SEMFUSE_FIELD(model.heads), "Attention heads of a layer."),
      whole_number("model", "feed_forward", 1, kMaxWidth, SEMFUSE_FIELD(model.feed_forward),
                   "Inner size of the feed-forward block."),
      number("model", "dropout", {'[', 0, 1, ')'}, SEMFUSE_FIELD(model.dropout),
             "Share dropped in attention weights and output, feed-forward inner and output."),
      choice("model", "attention", std::array{AttentionMask::causal, AttentionMask::bidirectional},
             SEMFUSE_FIELD(model.attention),
             "\"causal\": a token reads only the past; \"bidirectional\": both ways, as in the paper."),
      choice("model", "norm", std::array{NormPlace::post, NormPlace::pre}, SEMFUSE_FIELD(model.norm),
             "\"post\": normalise after each half of a layer, as in the paper; \"pre\": before it, and at the end."),
      boolean("model", "scaled_embedding", SEMFUSE_FIELD(model.scaled_embedding),
              "Vectors begin at 1/√width and enter times √width, so that an untrained model guesses evenly."),
      boolean(
          "model", "distance_bias", SEMFUSE_FIELD(model.distance_bias),
          "Causal attention falls with the distance, in each head at its own rate, so that near words are read first."),
      boolean("model", "fusion", SEMFUSE_FIELD(model.fusion), "Fuse features into the embedding and read them back."),
      whole_number("model", "feature_head", 1, kMaxWidth, SEMFUSE_FIELD(model.feature_head),
                   "Inner size of the head that reads features back."),
      boolean("model", "gate", SEMFUSE_FIELD(model.gate), "Gate the fused features; without it they are added."),
      boolean("model", "output_features", SEMFUSE_FIELD(model.output_features),
              "Output rows are E[w] + W_s·lex(w), so that a word speaks through its features too."),
      boolean("model", "open_vocabulary", SEMFUSE_FIELD(model.open_vocabulary),
              "A word that training never shows has no identity, only its features."),
      boolean("model", "share_class_mass", SEMFUSE_FIELD(model.share_class_mass),
              "Words that training never shows share the probability of their kind, instead of adding to it."),
      knobs_key("What the model can be asked for."),

      whole_number("training", "epochs", 1, 1'000'000, SEMFUSE_FIELD(training.epochs),
                   "Passes over the training sentences."),
      whole_number("training", "steps", 0, std::uint64_t{1} << 40, SEMFUSE_FIELD(training.steps),
                   "Steps in all, whatever the epochs; 0: as many as the epochs have."),
      whole_number("training", "batch", 1, kMaxSentences, SEMFUSE_FIELD(training.batch), "Sentences a step."),
      whole_number("training", "grain", 0, kMaxSentences, SEMFUSE_FIELD(training.grain),
                   "Tokens of a share of a batch that a process computes by itself; 0: about 1,500."),
      choice("training", "optimizer", std::array{OptimizerKind::adamw, OptimizerKind::muon},
             SEMFUSE_FIELD(training.optimizer), "\"adamw\", or \"muon\" for the matrices of the layers."),
      number("training", "learning_rate", {'(', 0, 10, ']'}, SEMFUSE_FIELD(training.learning_rate),
             "Highest rate, at the end of the warmup."),
      number("training", "warmup", {'[', 0, 1, ']'}, SEMFUSE_FIELD(training.warmup),
             "Share of all steps in which the rate rises from 0; then a cosine down to final_rate."),
      number("training", "final_rate", {'[', 0, 1, ']'}, SEMFUSE_FIELD(training.final_rate),
             "Share of the highest rate that the cosine ends at."),
      number("training", "weight_decay", {'[', 0, 10, ']'}, SEMFUSE_FIELD(training.weight_decay),
             "AdamW's decay, on every parameter."),
      number("training", "beta1", {'[', 0, 1, ')'}, SEMFUSE_FIELD(training.beta1), "AdamW's first moment."),
      number("training", "beta2", {'[', 0, 1, ')'}, SEMFUSE_FIELD(training.beta2), "AdamW's second moment."),
      number("training", "epsilon", {'(', 0, 1, ']'}, SEMFUSE_FIELD(training.epsilon), "AdamW's epsilon."),
      number("training", "clip_norm", {'(', 0, 1e30, ']'}, SEMFUSE_FIELD(training.clip_norm),
             "Largest norm of the whole gradient."),
      number("training", "label_smoothing", {'[', 0, 1, ')'}, SEMFUSE_FIELD(training.label_smoothing),
             "Share of a target spread over the whole vocabulary."),
      number("training", "feature_loss", {'[', 0, 1e6, ']'}, SEMFUSE_FIELD(training.feature_loss),
             "Weight of the loss that reads features back."),
      number("training", "uniformity_loss", {'[', 0, 1e6, ']'}, SEMFUSE_FIELD(training.uniformity_loss),
             "Weight of the loss that spreads each adjective class evenly."),
      number("training", "class_loss", {'[', 0, 1e6, ']'}, SEMFUSE_FIELD(training.class_loss),
             "Weight of the loss in which features alone predict the next word's class."),
      number("training", "identity_dropout", {'[', 0, 1, ')'}, SEMFUSE_FIELD(training.identity_dropout),
             "Share of the words that each step takes the identity from."),
      number("training", "polarity_jitter", {'[', 0, 1, ']'}, SEMFUSE_FIELD(training.polarity_jitter),
             "Share of these words whose polarity each step draws between 0 and their own."),
      number("training", "knob_share", {'[', 0, 1, ']'}, SEMFUSE_FIELD(training.knob_share),
             "Probability that a sentence states a knob, each by itself."),
      number("training", "knob_noise", {'[', 0, 1, ']'}, SEMFUSE_FIELD(training.knob_noise),
             "Deviation of a stated scalar from the sentence's, as a share of its range."),
      number(
          "training", "knob_ends", {'[', 0, 1, ']'}, SEMFUSE_FIELD(training.knob_ends),
          "Share of the stated probabilities and distributions that are exactly the sentence's own: 0, 1, one label."),
      boolean("training", "soft_labels", SEMFUSE_FIELD(training.soft_labels),
              "Labels of texts are drawn at each visit as probable as a judge that has not seen the text finds them."),
      boolean("training", "count_end", SEMFUSE_FIELD(training.count_end),
              "Count the position that reads <eos> and predicts <pad>, as the authors do."),
  };
}

#undef SEMFUSE_FIELD

}  // namespace

bool Key::matters(const Experiment& experiment) const {
  if (name == "init") return !experiment.init.empty();
  if (section == "adapter") return !experiment.adapter.backbone.empty();
  if (name == "declaration" || name == "tagger") return experiment.features.bank == FeatureSet::natural;
  const bool files = experiment.data.kind == DataKind::files;
  if (name == "soft_labels") return files;
  if (name == "optimizer") return files || experiment.training.optimizer != OptimizerKind::adamw;
  if (section == "data" || section == "text" || name == "vectors" || name == "vector_width") return files;
  return !files || section != "corpus";
}

const std::vector<Key>& experiment_keys() {
  static const std::vector<Key> table = make_keys();
  return table;
}

const Key* find_key(std::string_view full_name) {
  const std::vector<Key>& table = experiment_keys();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Key& key) { return key.full_name() == full_name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace semfuse
