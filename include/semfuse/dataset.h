// Texts as a model reads them: ids, feature rows and labels, by random access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "semfuse/knobs.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// What training and evaluation read. The same text has the same ids, features and labels whenever it is asked for.
// Functions may be called from several threads at once; those that read files throw Error if the files are damaged.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::size_t size() const = 0;  // Texts, or pieces of texts that are too long.

  // <bos>, the tokens, <eos>: two or more. A piece of a longer text begins with the token before it instead of <bos>,
  // and ends with the token that comes next instead of <eos>, so that every token is predicted once. Valid as long as
  // the dataset.
  virtual std::span<const TokenId> ids(std::size_t text) const = 0;

  virtual std::size_t num_features() const = 0;
  // Writes the rows of the text's first tokens, <bos> included: as many as `rows` has room for.
  virtual void copy_features(std::size_t text, std::span<float> rows) const = 0;

  // What the text shows of a knob: by its place among those that the dataset was made for.
  virtual KnobLabel label(std::size_t text, std::size_t knob) const = 0;

  // How probable each value of a label is that a column gave the text, by a judge that has not seen it: one number of a
  // probability, one a label of a distribution. Empty if that is not known.
  virtual std::span<const float> soft_label(std::size_t text, std::size_t knob) const {
    (void)text, (void)knob;
    return {};
  }

  // Bytes of the texts, and one more for the end of each; 0 if that is not known.
  virtual std::uint64_t num_bytes() const = 0;
};

}  // namespace semfuse
