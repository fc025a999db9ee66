#include "study/arena_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/text_hash.h"
#include "io/file.h"
#include "io/json_writer.h"
#include "semfuse/error.h"
#include "text/word_splitter.h"

namespace semfuse {
namespace {

constexpr std::size_t kMostTexts = 400'000;
constexpr std::size_t kFewest = 20;  // Of each label in each part.
// Of all texts, how many are up to here.
constexpr double kTest = 0.05;
constexpr double kJudgeB = 0.25;
constexpr double kJudgeA = 0.40;

std::vector<ArenaText>& part_of(ArenaTexts& texts, std::string_view text) {
  const auto is_below = [&](double share) { return is_validation_text(text, share); };
  if (is_below(kTest)) return texts.test;
  if (is_below(kJudgeB)) return texts.judge_b;
  return is_below(kJudgeA) ? texts.judge_a : texts.model;
}

void require_both_labels(const std::vector<ArenaText>& texts, const Knob& knob) {
  const auto positive = static_cast<std::size_t>(std::ranges::count(texts, true, &ArenaText::positive));
  if (std::min(positive, texts.size() - positive) >= kFewest) return;
  throw Error(fmt::format(
      "knob {}: a part of the texts has {} with the label and {} without, and needs {} of each; give more texts",
      knob.name, positive, texts.size() - positive, kFewest));
}

}  // namespace

ArenaTexts read_arena_texts(const std::vector<std::filesystem::path>& files, RecordOptions records, const Knob& knob) {
  if (knob.kind != KnobKind::probability || !knob.of_column)
    throw Error(
        fmt::format("knob {}: methods are compared on a probability of a column, as \"{}: probability of "
                    "column {}\"",
                    knob.name, knob.name, knob.name));
  records.columns = {knob.source};
  const bool skip_bad = records.skip_bad;
  RecordReader reader(files, std::move(records));
  ArenaTexts texts{.knob = knob};
  std::size_t count = 0;
  for (Record record; count < kMostTexts && reader.next(record);) {
    KnobLabel label;
    try {
      label = read_cell(knob, record.cells[0].text);
    } catch (const Error& error) {
      if (skip_bad) continue;
      throw Error(fmt::format("{}: {}, or leave out such rows with --skip-bad", reader.place(record), error.what()));
    }
    if (label.positive + label.negative == 0) continue;
    part_of(texts, record.text).push_back({std::string(record.text), label.positive > label.negative});
    ++count;
  }
  for (const auto* part : {&texts.model, &texts.judge_a, &texts.judge_b, &texts.test}) require_both_labels(*part, knob);
  return texts;
}

void write_arena_texts(const std::filesystem::path& path, const std::vector<ArenaText>& texts,
                       std::optional<bool> positive) {
  std::string lines;
  for (const ArenaText& text : texts) {
    if (positive && text.positive != *positive) continue;
    lines += Json{{"text", text.text}, {"label", text.positive ? 1 : 0}}.dump() + '\n';
  }
  write_atomically(path, lines);
}

LinearJudge arena_judge(const Knob& knob, const std::vector<ArenaText>& texts) {
  LabelledTexts labelled(knob, {});
  for (const ArenaText& text : texts)
    labelled.add(text.text, {.positive = text.positive ? 1U : 0U, .negative = text.positive ? 0U : 1U});
  return train_judge(labelled).judge;
}

std::vector<std::string> texts_of(const std::vector<ArenaText>& texts, std::optional<bool> positive) {
  std::vector<std::string> result;
  for (const ArenaText& text : texts) {
    if (!positive || text.positive == *positive) result.push_back(text.text);
  }
  return result;
}

std::string first_words(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (; count > 0 && end < text.size(); --count) end += first_word_length(text.substr(end));
  return std::string(text.substr(0, end));
}

}  // namespace semfuse
