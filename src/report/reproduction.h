// The paper's tables and figure from runs over seeds, beside the published numbers.
#pragma once

#include <string>
#include <vector>

#include "evaluation/statistics.h"
#include "study/reproduction.h"

namespace semfuse {

// A metric over seeds; values that do not apply are NaN.
struct Metric {
  std::string name;   // "seen_only_ppl"
  std::string title;  // "seen-only perplexity"
  double published;   // NaN if the paper gives none.
  std::vector<double> values;
};

// The rows of table 1 for one of the models.
std::vector<Metric> table1(const Reproduction& reproduction, bool fusion);

// The entropy floor on the sentences of each seed, and a model's perplexity over it; all NaN if a run is older than
// this measure. The interval of the latter is over seeds; of a single one it is over its sentences.
struct FloorComparison {
  std::vector<double> floors;
  std::vector<double> ratios;
  Estimate over_floor;
};
FloorComparison compare_with_floor(const Reproduction& reproduction, bool fusion);

// A statement of the paper and what the seeds say of it: the difference fusion - baseline, seed by seed.
struct Claim {
  std::string statement;
  Estimate difference;
  std::string verdict;  // "holds", "does not hold", "undecided"
};
std::vector<Claim> claims(const Reproduction& reproduction);

// Our runs against four of the authors' published code with the same held-out words (perplexity, seen-only; both
// models): the Welch interval of the difference of means.
struct CodeComparison {
  std::string metric;
  double authors_mean;
  Estimate ours;
  Estimate difference;
  bool differs;
};
std::vector<CodeComparison> compare_with_authors_code(const Reproduction& reproduction);

// results.json.
std::string results_json(const Reproduction& reproduction);
// report.html.
std::string report_page(const Reproduction& reproduction);
// docs/results.md, and how it begins.
inline constexpr const char* kResultsHeading = "# Results\n\nWritten by `semfuse reproduce` (see `--markdown`)";
std::string results_markdown(const Reproduction& reproduction);

}  // namespace semfuse
