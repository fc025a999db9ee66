#include "semfuse/feature_bank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "features/feature_bank_access.h"
#include "features/graded_columns.h"
#include "features/membership.h"
#include "features/natural_bank.h"
#include "features/sentence_cursor.h"
#include "features/word_vectors.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// The paper finds a sentence's roles by place, not by parsing: rows of its matrix, <bos> being row 0.
constexpr std::size_t kSubjectRow = 1;
constexpr std::size_t kHeadRow = 2;
constexpr std::size_t kObjectRow = 4;

struct WordToken {
  std::string_view text;
  std::string_view word_class = WordClass::kOther;
  double polarity = 0.0;
  double strength = 0.0;
};

// All that a feature may look at.
struct SentenceContext {
  const FeatureOptions& options;
  const AttributeMemberships* memberships;  // Null: attributes stay ungraded.
  std::vector<WordToken> tokens;            // <bos>, the words, <eos>.
  std::size_t first_subject_name;           // Row of the first subject name; number of tokens if there is none.
  double nudge;                             // Added to every strength.
};

bool is_alphabetic(std::string_view text) {
  const auto is_letter = [](char c) {
    // The bytes of a character beyond ASCII count as letters.
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_letter);
}

using Row = std::size_t;

template <const char* word_class>
double is_of_class(const SentenceContext& sentence, Row t) {
  return sentence.tokens[t].word_class == word_class;
}

double is_noun(const SentenceContext& sentence, Row t) {
  const WordToken& token = sentence.tokens[t];
  if (token.word_class == WordClass::kObject) return 1.0;
  for (const std::string_view other :
       {WordClass::kVerb, WordClass::kAdjective, WordClass::kSubject, WordClass::kPronoun}) {
    if (token.word_class == other) return 0.0;
  }
  return is_alphabetic(token.text);
}

double is_subject(const SentenceContext&, Row t) {
  return t == kSubjectRow;
}
double is_object(const SentenceContext&, Row t) {
  return t == kObjectRow;
}
double is_head(const SentenceContext&, Row t) {
  return t == kHeadRow;
}
double is_bos(const SentenceContext&, Row t) {
  return t == 0;
}
double is_eos(const SentenceContext& sentence, Row t) {
  return t + 1 == sentence.tokens.size();
}
double is_comma(const SentenceContext& sentence, Row t) {
  return sentence.tokens[t].text == ",";
}
double is_question(const SentenceContext& sentence, Row t) {
  return sentence.tokens[t].text == "?";
}

// Indices of AttributeMemberships and of Memberships.
enum Attribute : std::size_t { positive, negative, strong };
enum Level : std::size_t { low, med, high };

template <Attribute attribute, Level level>
double degree(const SentenceContext& sentence, double x) {
  const bool is_none = x == 0.0 && sentence.options.bank == FeatureSet::open;
  if (sentence.memberships == nullptr) return is_none ? static_cast<double>(kNoAttribute) : x;
  if (is_none) return 0.0;
  // Training grades attributes that are floats in ungraded rows; so that it sees the same degrees, bit by bit.
  if (sentence.options.learn_kernel) x = static_cast<double>(static_cast<float>(x));
  const Memberships& levels = (*sentence.memberships)[attribute];
  return membership(x, levels.centers[level], levels.widths[level], sentence.options);
}

template <Level level>
double positivity(const SentenceContext& sentence, Row t) {
  return degree<positive, level>(sentence, std::max(0.0, sentence.tokens[t].polarity));
}

template <Level level>
double negativity(const SentenceContext& sentence, Row t) {
  return degree<negative, level>(sentence, std::max(0.0, -sentence.tokens[t].polarity));
}

// A token is as strong as the intensifier before it.
template <Level level>
double strength(const SentenceContext& sentence, Row t) {
  const double intensity = t == 0 ? 0.0 : sentence.tokens[t - 1].strength;
  return degree<strong, level>(sentence, std::min(1.0, intensity + sentence.nudge));
}

// An intensifier is as strong as it says, and so is what follows it; the stronger of both where they meet.
template <Level level>
double strength_so_far(const SentenceContext& sentence, Row t) {
  const double before = t == 0 ? 0.0 : sentence.tokens[t - 1].strength;
  return degree<strong, level>(sentence, std::max(sentence.tokens[t].strength, before));
}

double coref_subject(const SentenceContext& sentence, Row t) {
  return sentence.tokens[t].word_class == WordClass::kPronoun && sentence.first_subject_name < t;
}

double is_capitalized(const SentenceContext& sentence, Row t) {
  const std::string_view text = sentence.tokens[t].text;
  return !text.empty() && text[0] >= 'A' && text[0] <= 'Z';
}

struct Feature {
  std::string_view name;
  double (*value)(const SentenceContext&, Row);
};

constexpr std::size_t kNumFeatures = 22;
using Features = std::array<Feature, kNumFeatures>;

constexpr Features kPaperFeatures = {{
    {"is_noun", is_noun},
    {"is_verb", is_of_class<WordClass::kVerb>},
    {"is_adj", is_of_class<WordClass::kAdjective>},
    {"is_subject", is_subject},
    {"is_object", is_object},
    {"is_head", is_head},
    {"is_bos", is_bos},
    {"is_eos", is_eos},
    {"is_comma", is_comma},
    {"is_question", is_question},
    {"pos_low", positivity<low>},
    {"pos_med", positivity<med>},
    {"pos_high", positivity<high>},
    {"neg_low", negativity<low>},
    {"neg_med", negativity<med>},
    {"neg_high", negativity<high>},
    {"str_low", strength<low>},
    {"str_med", strength<med>},
    {"str_high", strength<high>},
    {"coref_subject", coref_subject},
    {"is_capitalized", is_capitalized},
    {"is_pronoun", is_of_class<WordClass::kPronoun>},
}};

constexpr Features with(Features features, std::string_view name, double (*value)(const SentenceContext&, Row)) {
  for (Feature& feature : features) {
    if (feature.name == name) feature.value = value;
  }
  return features;
}

constexpr Features semfuse_features() {
  Features features = with(kPaperFeatures, "is_noun", is_of_class<WordClass::kObject>);
  features = with(features, "str_low", strength_so_far<low>);
  features = with(features, "str_med", strength_so_far<med>);
  return with(features, "str_high", strength_so_far<high>);
}

constexpr Features kSemfuseFeatures = semfuse_features();

// In both banks they are neighbours: the levels of the first attribute, then those of the next.
constexpr std::array<GradedColumn, kNumGradedColumns> make_graded_columns() {
  std::array<GradedColumn, kNumGradedColumns> columns{};
  const auto* first =
      std::find_if(kPaperFeatures.begin(), kPaperFeatures.end(), [](const Feature& f) { return f.name == "pos_low"; });
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i] = {static_cast<std::size_t>(first - kPaperFeatures.begin()) + i, i / 3, i % 3};
  }
  return columns;
}

constexpr std::array<GradedColumn, kNumGradedColumns> kGradedColumns = make_graded_columns();
static_assert(kPaperFeatures[kGradedColumns.back().column].name == "str_high");

bool is_graded(std::size_t column) {
  return column >= kGradedColumns.front().column && column <= kGradedColumns.back().column;
}

AttributeMemberships memberships_of(const FeatureOptions& options) {
  AttributeMemberships memberships;
  for (Memberships& levels : memberships) {
    levels.centers = options.centers;
    levels.widths.fill(options.bandwidth);
  }
  return memberships;
}

const Features& features_of(const FeatureOptions& options) {
  return options.bank == FeatureSet::paper ? kPaperFeatures : kSemfuseFeatures;
}

WordToken describe(std::string_view word, const Lexicon& lexicon) {
  const LexiconEntry* entry = lexicon.find(word);
  return entry == nullptr ? WordToken{.text = word}
                          : WordToken{word, entry->word_class, entry->polarity, entry->strength};
}

SentenceContext describe(const Sentence& sentence, const Lexicon& lexicon, const FeatureOptions& options,
                         const AttributeMemberships* memberships) {
  SentenceContext context = {options, memberships, {}, 0, 0.0};
  context.tokens.reserve(sentence.size() + 2);
  context.tokens.push_back({.text = "<bos>"});
  for (const std::string& word : sentence) context.tokens.push_back(describe(word, lexicon));
  context.tokens.push_back({.text = "<eos>"});
  const auto is_subject_name = [](const WordToken& token) { return token.word_class == WordClass::kSubject; };
  const auto name = std::find_if(context.tokens.begin(), context.tokens.end(), is_subject_name);
  context.first_subject_name = static_cast<std::size_t>(name - context.tokens.begin());
  const bool exclaims = !sentence.empty() && sentence.back() == "!";
  if (exclaims && options.bank == FeatureSet::paper) context.nudge = options.exclamation_nudge;
  return context;
}

// The comparisons are negated, so that NaN is caught too.
void check(const FeatureOptions& options) {
  if (!(options.kernel_base > 0.0 && options.kernel_base < 1.0)) {
    throw Error(fmt::format("features: kernel_base is {}; choose one in (0, 1)", options.kernel_base));
  }
  const auto& [c0, c1, c2] = options.centers;
  if (!(0.0 <= c0 && c0 < c1 && c1 < c2 && c2 <= 1.0)) {
    throw Error(
        fmt::format("features: centers are {}, {}, {}; choose three in [0, 1], each above the one before", c0, c1, c2));
  }
  if (!(options.bandwidth > 0.0 && std::isfinite(options.bandwidth))) {
    throw Error(fmt::format("features: bandwidth is {}; choose one above 0", options.bandwidth));
  }
  if (!(options.exclamation_nudge >= 0.0 && options.exclamation_nudge <= 1.0)) {
    throw Error(fmt::format("features: exclamation_nudge is {}; choose one in [0, 1]", options.exclamation_nudge));
  }
}

}  // namespace

std::string_view to_string(FeatureSet set) {
  switch (set) {
    case FeatureSet::semfuse:
      return "semfuse";
    case FeatureSet::open:
      return "open";
    case FeatureSet::natural:
      return "natural";
    case FeatureSet::none:
      return "none";
    default:
      return "paper";
  }
}

std::string_view to_string(MembershipKernel kernel) {
  switch (kernel) {
    case MembershipKernel::triangular:
      return "triangular";
    case MembershipKernel::gaussian:
      return "gaussian";
    default:
      return "power";
  }
}

const std::array<GradedColumn, kNumGradedColumns>& graded_columns() {
  return kGradedColumns;
}

FeatureBank::FeatureBank(Lexicon lexicon, FeatureOptions options)
    : lexicon_(std::move(lexicon)), options_(options), memberships_(memberships_of(options)) {
  check(options_);
  if (options_.bank == FeatureSet::natural) {
    natural_ = std::make_shared<const NaturalBank>(BankDeclaration::load("english"), Tagger::english(),
                                                   std::vector<Lexicon>{lexicon_}, options_);
  }
}

void FeatureBank::set_memberships(const AttributeMemberships& memberships) {
  for (const auto& [centers, widths] : memberships) {
    // Negated, so that NaN is caught too.
    if (!(centers[0] <= centers[1] && centers[1] <= centers[2])) {
      throw Error(fmt::format("features: the centres {} do not ascend; sort them", fmt::join(centers, ", ")));
    }
    for (const double width : widths) {
      if (!(width > 0.0)) throw Error(fmt::format("features: a width is {}; choose one above 0", width));
    }
  }
  memberships_ = memberships;
}

FeatureBank FeatureBankAccess::ungraded(FeatureBank bank) {
  bank.graded_ = false;
  return bank;
}

FeatureBank FeatureBankAccess::of(std::shared_ptr<const NaturalBank> natural) {
  FeatureOptions options = natural->options();
  options.bank = FeatureSet::none;
  const std::vector<Lexicon>& lexicons = natural->annotator().lexicons();
  FeatureBank bank(lexicons.empty() ? Lexicon({}) : lexicons.front(), options);
  bank.options_.bank = FeatureSet::natural;
  bank.natural_ = std::move(natural);
  return bank;
}

std::size_t FeatureBankAccess::num_vector_columns(const FeatureBank& bank) {
  return bank.vectors_ ? bank.vectors_->num_columns() : 0;
}

FeatureMatrix FeatureBankAccess::token_rows(const FeatureBank& bank, const Vocabulary& vocabulary) {
  FeatureMatrix words = bank.word_rows(vocabulary);
  if (!bank.vectors_) return words;
  FeatureMatrix rows = {.num_rows = words.num_rows, .num_features = words.num_features + num_vector_columns(bank)};
  for (std::size_t id = 0; id < words.num_rows; ++id) {
    const auto row = std::span(words.values).subspan(id * words.num_features, words.num_features);
    rows.values.insert(rows.values.end(), row.begin(), row.end());
    const std::string& entry = vocabulary.entries()[id];
    if (id > static_cast<std::size_t>(Vocabulary::kEos) && entry.size() > 1) {
      const std::vector<float> vector = bank.vectors_->columns_of(entry);
      rows.values.insert(rows.values.end(), vector.begin(), vector.end());
    }
    rows.values.resize((id + 1) * rows.num_features);
  }
  return rows;
}

FeatureBank FeatureBank::with_lexicon(Lexicon lexicon) const {
  FeatureBank bank = *this;
  bank.lexicon_ = std::move(lexicon);
  if (natural_) {
    bank.natural_ = std::make_shared<const NaturalBank>(natural_->declaration(), natural_->annotator().shared_tagger(),
                                                        std::vector<Lexicon>{bank.lexicon_}, options_);
  }
  return bank;
}

const std::vector<std::string>& FeatureBank::names() const {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Feature& feature : kPaperFeatures) list.emplace_back(feature.name);
    return list;
  }();
  static const std::vector<std::string> none;
  if (natural_) return natural_->names();
  return options_.bank == FeatureSet::none ? none : names;
}

FeatureMatrix FeatureBank::rows(const Sentence& sentence) const {
  if (natural_) {
    std::vector<TokenText> words;
    for (const std::string& word : sentence) words.push_back({word, true});
    return natural_->rows(words);
  }
  if (options_.bank == FeatureSet::none) return {.num_rows = sentence.size() + 2, .num_features = 0, .values = {}};
  const SentenceContext context = describe(sentence, lexicon_, options_, graded_ ? &memberships_ : nullptr);
  FeatureMatrix matrix = {.num_rows = context.tokens.size(), .num_features = kNumFeatures, .values = {}};
  matrix.values.reserve(matrix.num_rows * matrix.num_features);
  for (Row t = 0; t < matrix.num_rows; ++t) {
    for (const Feature& feature : features_of(options_)) {
      matrix.values.push_back(static_cast<float>(feature.value(context, t)));
    }
  }
  return matrix;
}

FeatureMatrix FeatureBank::word_rows(const Vocabulary& vocabulary) const {
  if (natural_) {
    FeatureMatrix matrix = natural_->word_rows(vocabulary.entries());
    const auto set = [&](TokenId id, std::span<const float> row) {
      std::ranges::copy(row, matrix.values.begin() +
                                 static_cast<std::ptrdiff_t>(id) * static_cast<std::ptrdiff_t>(matrix.num_features));
    };
    FeatureCursor cursor(*natural_);
    set(Vocabulary::kPad, std::vector<float>(size()));
    set(Vocabulary::kBos, cursor.row());
    set(Vocabulary::kEos, cursor.end());
    return matrix;
  }
  if (options_.bank == FeatureSet::none) return {.num_rows = vocabulary.size(), .num_features = 0, .values = {}};
  // Nameless tokens around the word keep it off every place that means a role.
  constexpr Row kAlone = kObjectRow + 1;
  SentenceContext context = {options_, graded_ ? &memberships_ : nullptr, std::vector<WordToken>(kAlone + 2),
                             kAlone + 2, 0.0};
  FeatureMatrix matrix = {.num_rows = vocabulary.size(), .num_features = kNumFeatures, .values = {}};
  matrix.values.reserve(matrix.num_rows * matrix.num_features);
  for (std::size_t id = 0; id < vocabulary.size(); ++id) {
    const bool special = id <= static_cast<std::size_t>(Vocabulary::kEos);
    context.tokens[kAlone] = special ? WordToken{} : describe(vocabulary.entries()[id], lexicon_);
    for (std::size_t f = 0; f < kNumFeatures; ++f) {
      const Feature& feature = features_of(options_)[f];
      double value = feature.value(context, kAlone);
      if (id == Vocabulary::kPad) value = !graded_ && is_graded(f) ? static_cast<double>(kNoAttribute) : 0.0;
      if (id == Vocabulary::kBos && feature.name == "is_bos") value = 1.0;
      if (id == Vocabulary::kEos && feature.name == "is_eos") value = 1.0;
      matrix.values.push_back(static_cast<float>(value));
    }
  }
  return matrix;
}

FeatureMatrix FeatureBank::prefix_rows(const Sentence& prefix) const {
  constexpr std::size_t kWordsBeforeObject = 3;
  FeatureMatrix matrix = rows(prefix);
  --matrix.num_rows;  // <eos>
  matrix.values.resize(matrix.num_rows * matrix.num_features);
  if (options_.bank == FeatureSet::paper && prefix.size() < kWordsBeforeObject) {
    const auto index = std::find(names().begin(), names().end(), "is_object") - names().begin();
    matrix.values[(matrix.num_rows - 1) * matrix.num_features + static_cast<std::size_t>(index)] = 1.0f;
  }
  return matrix;
}

SentenceCursor::SentenceCursor(const FeatureBank& bank) : bank_(&bank), row_(bank.size()) {
  evaluate("<bos>");
}

std::span<const float> SentenceCursor::append(std::string_view word) {
  ++place_;
  evaluate(word);
  return row_;
}

// Rows look at the word, the one before it, their place as far as that means a role, and whether a subject was named
// before: a short sentence stands for all that were read.
void SentenceCursor::evaluate(std::string_view word) {
  if (row_.empty()) return;
  const Row t = std::min(place_, kObjectRow + 2);
  SentenceContext context = {bank_->options_, bank_->graded_ ? &bank_->memberships_ : nullptr,
                             std::vector<WordToken>(t + 2), subject_named_ ? t - 1 : t + 2, 0.0};
  context.tokens[t] = place_ == 0 ? WordToken{.text = word} : describe(word, bank_->lexicon_);
  if (t > 0) context.tokens[t - 1] = place_ == 1 ? WordToken{.text = "<bos>"} : describe(before_, bank_->lexicon_);
  const Features& features = features_of(bank_->options_);
  for (std::size_t f = 0; f < features.size(); ++f) row_[f] = static_cast<float>(features[f].value(context, t));
  subject_named_ = subject_named_ || context.tokens[t].word_class == WordClass::kSubject;
  before_ = word;
}

}  // namespace semfuse
