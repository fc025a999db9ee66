// The tokenizer inside a GGUF file: byte-level BPE ("gpt2") or SentencePiece's ("llama").
#pragma once

#include <optional>

#include "backbone/backbone_spec.h"
#include "backbone/gguf_file.h"
#include "semfuse/tokenizer.h"

namespace semfuse {

// Nothing if the file has none. Throws Error, by name, for kinds that cannot be read.
std::optional<Tokenizer> read_gguf_tokenizer(const GgufFile& file);

// bos, eos and adds_bos.
void read_gguf_ids(const GgufFile& file, BackboneSpec& spec);

}  // namespace semfuse
