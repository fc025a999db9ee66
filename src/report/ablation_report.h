// An ablation for people, for scripts and as a picture.
#pragma once

#include <string>
#include <vector>

#include "study/ablation.h"

namespace semfuse {

// Rows of a table, the first with the names of its columns, and the sentence below it.
std::vector<std::vector<std::string>> ablation_cells(const std::vector<AblationRow>& rows);
std::string ablation_note();
std::string ablation_table(const std::vector<AblationRow>& rows);  // Markdown.
std::string ablation_json(const std::vector<AblationRow>& rows);
std::string ablation_svg(const std::vector<AblationRow>& rows);

}  // namespace semfuse
