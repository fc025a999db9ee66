#include "features/natural_bank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/lower_case.h"
#include "core/nearest_word.h"
#include "features/lexicons.h"
#include "features/membership.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// Places in surface_names().
enum SurfaceName : std::size_t {
  kCapital,
  kUpper,
  kDigit,
  kNumber,
  kLetter,
  kMark,
  kStop,
  kFirst,
  kWord,
  kStart,
  kEnd
};

// Calls `yes` with the place of each name that is true of the letters.
template <typename Yes>
void each_surface(const Surface& surface, const Yes& yes) {
  if (surface.capital) yes(kCapital);
  if (surface.upper) yes(kUpper);
  if (surface.digit) yes(kDigit);
  if (surface.number) yes(kNumber);
  if (surface.letter) yes(kLetter);
  if (surface.mark) yes(kMark);
  if (surface.stop) yes(kStop);
  yes(kWord);
}

std::size_t place_of(std::string_view name, const std::vector<std::string>& names, std::string_view what) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error(fmt::format("no lexicon has the {} {}{}", what, quoted_text(name), did_you_mean(name, names)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

const Lexicon& english_lexicon() {
  static const Lexicon lexicon = [] {
    const std::vector<EmbeddedText>& all = embedded_lexicons();
    const auto found = std::find_if(all.begin(), all.end(), [](const EmbeddedText& l) { return l.name == "english"; });
    return Lexicon::parse(found->text, "lexicons/english.tsv");
  }();
  return lexicon;
}

const std::vector<std::string>& surface_names() {
  static const std::vector<std::string> names = {"capital", "upper", "digit", "number", "letter", "mark",
                                                 "stop",    "first", "word",  "start",  "end"};
  return names;
}

NaturalBank::NaturalBank(BankDeclaration declaration, std::shared_ptr<const Tagger> tagger,
                         std::vector<Lexicon> lexicons, const FeatureOptions& options)
    : declaration_(std::move(declaration)),
      annotator_(std::move(tagger), std::move(lexicons)),
      options_(options),
      of_class_(annotator_.class_names().size()),
      of_surface_(surface_names().size()),
      of_begun_(surface_names().size()) {
  options_.bank = FeatureSet::none;
  const FeatureBank checked(Lexicon({}), options_);  // Throws if an option is out of its range.
  options_.bank = FeatureSet::natural;
  for (const DeclaredFeature& feature : declaration_.features) {
    names_.push_back(feature.name);
    Alternatives& alternatives = features_.emplace_back();
    for (const std::vector<BankTerm>& terms : feature.alternatives) {
      std::vector<Literal>& literals = alternatives.emplace_back();
      for (BankTerm term : terms) {
        Literal literal = {.atom = 0, .back = term.back, .negated = term.negated};
        most_back_ = std::max(most_back_, term.back);
        assert(most_back_ <= kMostBack);
        term.back = 0;
        term.negated = false;
        try {
          literal.atom = add_atom(term);
        } catch (const Error& error) {
          throw Error(fmt::format("{}:{}: {}: {}", declaration_.origin, feature.line, feature.name, error.what()));
        }
        literals.push_back(literal);
      }
    }
  }
}

std::size_t NaturalBank::add_atom(const BankTerm& term) {
  if (const auto known = std::find(terms_.begin(), terms_.end(), term); known != terms_.end()) {
    return static_cast<std::size_t>(known - terms_.begin());
  }
  const std::size_t atom = terms_.size();
  switch (term.kind) {
    case BankTerm::Kind::tag:
      if (annotator_.tagger() == nullptr) throw Error("a tag needs a tagger, and there is none; name one");
      for (const std::string& name : term.values) of_tag_[*find_universal_tag(name)].push_back(atom);
      break;
    case BankTerm::Kind::words:
      for (const std::string& value : term.values) {
        std::vector<std::string> words = words_backwards(value);
        longest_phrase_ = std::max(longest_phrase_, words.size());
        phrases_[words[0]].push_back({atom, {words.begin() + 1, words.end()}});
      }
      break;
    case BankTerm::Kind::ending:
      for (const std::string& letters : term.values) endings_.push_back({atom, lower_case(letters)});
      break;
    case BankTerm::Kind::surface: {
      const std::size_t place = place_of(term.values[0], surface_names(), "surface");
      (term.begun ? of_begun_ : of_surface_)[place].push_back(atom);
      break;
    }
    case BankTerm::Kind::in_class:
      of_class_[place_of(term.values[0], annotator_.class_names(), "class")].push_back(atom);
      break;
    case BankTerm::Kind::degree: {
      BankTerm centred = term;
      if (term.level <= BankTerm::Level::high) {
        centred.center = options_.centers[static_cast<std::size_t>(term.level)];
        centred.width = options_.bandwidth;
      }
      degrees_.push_back({atom, place_of(term.values[0], annotator_.attribute_names(), "attribute"), centred});
      break;
    }
  }
  terms_.push_back(term);
  return atom;
}

void NaturalBank::read(const AnnotatedWord& word, std::string_view lower, std::span<const std::string> before,
                       std::span<float> atoms) const {
  const auto set = [&](const std::vector<std::size_t>& those) {
    for (const std::size_t atom : those) atoms[atom] = 1.0f;
  };
  if (word.tag < of_tag_.size()) set(of_tag_[word.tag]);
  set(of_class_[word.lexicon_class]);
  each_surface(word.surface, [&](SurfaceName name) { set(of_surface_[name]); });
  if (word.first) set(of_surface_[kFirst]);
  for (const Ending& ending : endings_) {
    if (lower.size() > ending.letters.size() && lower.ends_with(ending.letters)) atoms[ending.atom] = 1.0f;
  }
  if (const auto found = phrases_.find(lower); found != phrases_.end()) {
    for (const Phrase& phrase : found->second) {
      if (phrase.before.size() <= before.size() &&
          std::equal(phrase.before.begin(), phrase.before.end(), before.begin()))
        atoms[phrase.atom] = 1.0f;
    }
  }
  for (const Degree& degree : degrees_) {
    const double x = std::min(1.0, degree.term.sign * static_cast<double>(word.attributes[degree.attribute]));
    if (!(x > 0.0)) continue;  // A word without the attribute has no degree of it.
    const double value = degree.term.level == BankTerm::Level::value
                             ? x
                             : membership(x, degree.term.center, degree.term.width, options_);
    atoms[degree.atom] = std::max(atoms[degree.atom], static_cast<float>(value));
  }
}

void NaturalBank::read_unfinished(std::string_view letters, std::span<float> atoms) const {
  for (const std::vector<std::size_t>& those : of_begun_) {
    for (const std::size_t atom : those) atoms[atom] = 0.0f;
  }
  if (letters.empty()) return;
  each_surface(Surface::of(letters), [&](SurfaceName name) {
    for (const std::size_t atom : of_begun_[name]) atoms[atom] = 1.0f;
  });
}

void NaturalBank::read_start(std::span<float> atoms) const {
  for (const std::size_t atom : of_surface_[kStart]) atoms[atom] = 1.0f;
}

void NaturalBank::read_end(std::span<float> atoms) const {
  for (const std::size_t atom : of_surface_[kEnd]) atoms[atom] = 1.0f;
}

void NaturalBank::evaluate(const AtomsOfWords& of, std::span<float> row) const {
  const auto value_of = [&](const Literal& literal) {
    float value = literal.back == 0 ? of[0][literal.atom] : 0.0f;
    for (std::size_t back = 1; back <= literal.back; ++back) value = std::max(value, of[back][literal.atom]);
    return literal.negated ? 1.0f - value : value;
  };
  for (std::size_t f = 0; f < features_.size(); ++f) {
    if (features_[f].size() == 1 && features_[f][0].size() == 1) {  // Most of them.
      const Literal& only = features_[f][0][0];
      row[f] = only.back == 0 && !only.negated ? of[0][only.atom] : value_of(only);
      continue;
    }
    float largest = 0.0f;
    for (const std::vector<Literal>& literals : features_[f]) {
      float smallest = 1.0f;
      for (const Literal& literal : literals) {
        smallest = std::min(smallest, value_of(literal));
        if (smallest == 0.0f) break;
      }
      largest = std::max(largest, smallest);
      if (largest == 1.0f) break;
    }
    row[f] = largest;
  }
}

FeatureMatrix NaturalBank::rows(std::span<const TokenText> tokens) const {
  FeatureMatrix matrix = {.num_rows = tokens.size() + 2, .num_features = size(), .values = {}};
  matrix.values.reserve(matrix.num_rows * matrix.num_features);
  const auto add = [&](std::span<const float> row) {
    matrix.values.insert(matrix.values.end(), row.begin(), row.end());
  };
  FeatureCursor cursor(*this);
  add(cursor.row());
  for (const TokenText& token : tokens) add(cursor.append(token));
  add(cursor.end());
  return matrix;
}

FeatureMatrix NaturalBank::word_rows(std::span<const std::string> texts) const {
  FeatureMatrix matrix = {.num_rows = texts.size(), .num_features = size(), .values = {}};
  matrix.values.resize(matrix.num_rows * matrix.num_features);
  std::vector<float> atoms(terms_.size()), none(terms_.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    AnnotationCursor cursor(annotator_);
    cursor.append(texts[i], true);
    if (cursor.words().empty()) continue;
    std::size_t begin = cursor.words().size() - 1;
    while (cursor.words()[begin].place.joined) --begin;
    std::fill(atoms.begin(), atoms.end(), 0.0f);
    for (std::size_t w = begin; w < cursor.words().size(); ++w) {
      AnnotatedWord word = cursor.words()[w];
      word.first = false;
      read(word, lower_case(cursor.texts()[w]), {}, atoms);
    }
    AtomsOfWords of;
    of.fill(none.data());
    of[0] = atoms.data();
    evaluate(of, std::span(matrix.values).subspan(i * size(), size()));
  }
  return matrix;
}

NaturalBank NaturalBank::english() {
  return NaturalBank(BankDeclaration::load("english"), Tagger::english(), {english_lexicon()});
}

FeatureCursor::FeatureCursor(const NaturalBank& bank)
    : bank_(&bank),
      annotation_(bank.annotator_),
      atoms_((bank.most_back_ + 1) * bank.terms_.size()),
      row_(bank.size()) {
  bank.read_start(atoms(0));
  evaluate();
}

std::span<float> FeatureCursor::atoms(std::size_t back) {
  const std::size_t num_turns = bank_->most_back_ + 1, num_atoms = bank_->terms_.size();
  return std::span(atoms_).subspan((turn_ + num_turns - back) % num_turns * num_atoms, num_atoms);
}

// The atoms of the word before become those of one back.
void FeatureCursor::next_word() {
  turn_ = (turn_ + 1) % (bank_->most_back_ + 1);
  const std::span<float> fresh = atoms(0);
  std::fill(fresh.begin(), fresh.end(), 0.0f);
}

void FeatureCursor::evaluate() {
  NaturalBank::AtomsOfWords of{};
  for (std::size_t back = 0; back <= bank_->most_back_; ++back) of[back] = atoms(back).data();
  bank_->evaluate(of, row_);
}

std::span<const float> FeatureCursor::append(const TokenText& token) {
  // What the unfinished word shows, a bit each.
  const auto begun = [this] {
    unsigned bits = 0;
    for (const std::vector<std::size_t>& those : bank_->of_begun_) {
      bits = bits << 1 | (those.empty() || atoms(0)[those[0]] == 0.0f ? 0U : 1U);
    }
    return bits;
  };
  const unsigned begun_before = begun();
  annotation_.append(token.bytes, token.ends_word);
  for (std::size_t i = 0; i < annotation_.words().size(); ++i) {
    const AnnotatedWord& word = annotation_.words()[i];
    if (word.first) {
      std::fill(atoms_.begin(), atoms_.end(), 0.0f);
      before_.clear();
    } else if (!word.place.joined) {
      next_word();
    }
    std::string lower = lower_case(annotation_.texts()[i]);
    bank_->read(word, lower, before_, atoms(0));
    if (bank_->longest_phrase_ > 1) {
      if (before_.size() + 1 >= bank_->longest_phrase_) before_.pop_back();
      before_.insert(before_.begin(), std::move(lower));
    }
  }
  bank_->read_unfinished(annotation_.unfinished(), atoms(0));
  // A byte or piece that goes on with a word seldom changes anything.
  if (!annotation_.words().empty() || begun() != begun_before) evaluate();
  return row_;
}

std::span<const float> FeatureCursor::end() {
  std::fill(atoms_.begin(), atoms_.end(), 0.0f);
  bank_->read_end(atoms(0));
  evaluate();
  return row_;
}

}  // namespace semfuse
