// What `semfuse inspect` shows of pretrained models, imported or as others have them.
#pragma once

#include <string>

#include "backbone/foreign_model.h"
#include "backbone/imported_model.h"
#include "io/json_writer.h"
#include "terminal.h"

namespace semfuse {

std::string backbone_text(const Terminal& terminal, const std::string& path, const ForeignModel& model);
std::string backbone_text(const Terminal& terminal, const ImportedModel& model);
Json backbone_json(const std::string& path, const ForeignModel& model);
Json backbone_json(const ImportedModel& model);

// A sentence about the tokenizer, or about its absence.
std::string tokenizer_line(const ForeignModel& model);

}  // namespace semfuse
