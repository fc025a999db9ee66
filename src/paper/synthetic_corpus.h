// The words of the synthetic corpus, by their place in a clause `SUBJECT VERB the OBJECT , INTENSIFIER ADJECTIVE`.
// The order of a list is part of what a seed means: do not sort.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace semfuse {

struct SyntheticSubject {
  std::string_view name;
  std::string_view pronoun;  // Stands for the name in a second clause.
};

struct SyntheticIntensifier {
  std::string_view word;
  std::uint64_t weight;  // Drawn in proportion to it.
  double strength;       // 0 ... 1.
};

struct SyntheticMark {
  std::string_view word;
  std::uint64_t weight;  // Drawn in proportion to it.
};

inline constexpr std::array<SyntheticSubject, 5> kSyntheticSubjects = {
    {{"Alice", "she"}, {"Bob", "he"}, {"Carol", "she"}, {"Dave", "he"}, {"Eve", "she"}}};
inline constexpr std::array<std::string_view, 2> kSyntheticPronouns = {"she", "he"};
inline constexpr std::array<std::string_view, 5> kSyntheticVerbs = {"finishes", "reviews", "trains", "starts", "cooks"};
inline constexpr std::array<std::string_view, 5> kSyntheticObjects = {"task", "paper", "model", "project", "meal"};
inline constexpr std::array<SyntheticIntensifier, 4> kSyntheticIntensifiers = {
    {{"slightly", 2, 0.2}, {"moderately", 2, 0.5}, {"very", 3, 0.8}, {"extremely", 2, 1.0}}};
inline constexpr std::array<std::string_view, 5> kSyntheticPositive = {"good", "great", "excellent", "pleasant",
                                                                       "wonderful"};
inline constexpr std::array<std::string_view, 5> kSyntheticNegative = {"bad", "poor", "terrible", "unpleasant",
                                                                       "awful"};
inline constexpr std::array<std::string_view, 2> kSyntheticConjunctions = {"and", "but"};
inline constexpr std::array<SyntheticMark, 3> kSyntheticFinalMarks = {{{".", 8}, {"!", 3}, {"?", 1}}};
inline constexpr std::string_view kSyntheticArticle = "the";
inline constexpr std::string_view kSyntheticComma = ",";

}  // namespace semfuse
