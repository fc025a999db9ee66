// Labelled texts shared out among those who take part in an arena, so that no text plays two parts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/record_reader.h"
#include "judge/judge_training.h"
#include "semfuse/knobs.h"

namespace semfuse {

struct ArenaText {
  std::string text;
  bool positive = false;
};

// By a hash of the text: the same text has the same part whatever file it is in. Shares are 60, 15, 20 and 5 %.
struct ArenaTexts {
  Knob knob;                       // A probability of a column.
  std::vector<ArenaText> model;    // What models, experts and heads are trained on.
  std::vector<ArenaText> judge_a;  // Of the judge that methods may use: to calibrate, to choose the best of several.
  std::vector<ArenaText> judge_b;  // Of the judge that measures; with judge_a's, of the model that measures fluency.
  std::vector<ArenaText> test;     // Prompts begin with their words.
};

// Texts without a label are left out. Of more than 400,000 the rest is not read. Throws Error as RecordReader does, for
// cells that are no label, for another kind of knob, and if some part has too few texts of a label.
ArenaTexts read_arena_texts(const std::vector<std::filesystem::path>& files, RecordOptions records, const Knob& knob);

// A .jsonl with the columns text and label: all of them, or those of one label.
void write_arena_texts(const std::filesystem::path& path, const std::vector<ArenaText>& texts,
                       std::optional<bool> positive = std::nullopt);

// Throws Error as train_judge() does.
LinearJudge arena_judge(const Knob& knob, const std::vector<ArenaText>& texts);

// Those of the label, or all.
std::vector<std::string> texts_of(const std::vector<ArenaText>& texts, std::optional<bool> positive = std::nullopt);

// The first `count` words of a text.
std::string first_words(std::string_view text, std::size_t count);

}  // namespace semfuse
