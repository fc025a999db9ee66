// What a model reads of a text and makes of it, position by position, as plain arrays: for who looks inside.
#pragma once

#include <span>
#include <vector>

#include "semfuse/feature_bank.h"
#include "semfuse/knobs.h"
#include "semfuse/language_model.h"

namespace semfuse {

// Rows of one text, row-major: the first is that of <bos>, then one for each of its tokens.
struct ReadoutRows {
  std::size_t num_rows = 0;
  std::size_t num_columns = 0;
  std::vector<float> values;
};

// `ids` are tokens of the model without <bos> and <eos> (LanguageModel::encode() gives them), `settings` what the model
// is asked for, as it stands: not calibrated. All throw Error for an id that the model has not and as request_row()
// does, and may be called from several threads at once. Imported models are read as generation reads them; one that
// cannot begin a text has not-a-numbers in its first row.

// Logits of the next token: [ids + 1, vocab_size]. Without settings the numbers of LanguageModel::logits().
ReadoutRows read_logits(const LanguageModel& model, std::span<const TokenId> ids,
                        std::span<const KnobSetting> settings = {});

// The states that the logits are computed from: [ids + 1, width].
ReadoutRows read_hidden(const LanguageModel& model, std::span<const TokenId> ids,
                        std::span<const KnobSetting> settings = {});

// The features that the model's bank computes, also if the model reads none: [ids + 1, bank size]. They are those of a
// text that goes on.
ReadoutRows read_features(const LanguageModel& model, std::span<const TokenId> ids);

}  // namespace semfuse
