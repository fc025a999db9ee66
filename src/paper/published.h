// The numbers that the paper publishes, and those of its authors' code run again with other seeds.
#pragma once

#include <string>
#include <vector>

namespace semfuse {

// One row of table 1; NaN where the paper has a dash.
struct PublishedModel {
  double ppl;
  double seen_only_ppl;
  double feature_mse;
  double adjective_control;
  double punctuation_control;
  double held_out_pos;
  double held_out_neg;
};

struct PublishedFocus {
  double baseline;
  double fusion;
};

struct Published {
  PublishedModel baseline;
  PublishedModel fusion;
  std::vector<double> baseline_curve;  // Figure 1, by epoch.
  std::vector<double> fusion_curve;
  std::vector<PublishedFocus> focus;  // In the order of focus_words().
};

const Published& published();

// The words of the paper's table of single cross-entropies.
const std::vector<std::string>& focus_words();

// The published code with the paper's held-out words and seeds 111, 11, 12, 13.
struct AuthorsCode {
  std::vector<double> baseline_ppl;
  std::vector<double> fusion_ppl;
  std::vector<double> baseline_seen_only_ppl;
  std::vector<double> fusion_seen_only_ppl;
};

const AuthorsCode& authors_code();

}  // namespace semfuse
