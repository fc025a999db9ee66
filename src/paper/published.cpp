#include "paper/published.h"

#include <cmath>

namespace semfuse {

const Published& published() {
  static const Published numbers = {.baseline = {2.249, 1.511, NAN, NAN, NAN, NAN, NAN},
                                    .fusion = {2.152, 1.431, 0.0087, 1.0, 1.0, 0.62, 0.43},
                                    .baseline_curve = {8.346, 3.341, 2.470, 2.316, 2.257, 2.249},
                                    .fusion_curve = {5.474, 2.741, 2.208, 2.213, 2.160, 2.152},
                                    .focus = {{0.00258, 0.00177},
                                              {6.86868, 8.94856},
                                              {7.02154, 6.98764},
                                              {0.00309, 0.00254},
                                              {0.00277, 0.00191},
                                              {4.42129, 2.88172},
                                              {3.94640, 2.91456},
                                              {0.00293, 0.00354}}};
  return numbers;
}

const std::vector<std::string>& focus_words() {
  static const std::vector<std::string> words = {"good", "great", "terrible", "slightly", "very", "!", "?", ","};
  return words;
}

const AuthorsCode& authors_code() {
  static const AuthorsCode runs = {.baseline_ppl = {2.246, 2.125, 1.932, 2.159},
                                   .fusion_ppl = {2.174, 2.674, 1.939, 2.532},
                                   .baseline_seen_only_ppl = {1.511, 1.479, 1.333, 1.359},
                                   .fusion_seen_only_ppl = {1.408, 1.710, 1.312, 1.622}};
  return runs;
}

}  // namespace semfuse
