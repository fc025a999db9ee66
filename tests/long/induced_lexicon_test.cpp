// The lexicon that labels of review sentences give, against VADER's and on texts that it was not made of.
#include <fstream>

#include "data/induced_lexicon.h"
#include "e2e/semfuse_program.h"
#include "features/annotator.h"

namespace semfuse {
namespace {

TEST(InducedLexicon, AgreesWithVaderAndDecidesDevTexts) {
  const std::string shared = SEMFUSE_SOURCE_DIR "/../shared/data/";
  if (!std::ifstream(shared + "yelp/train.pos")) GTEST_SKIP() << "there is no " << shared << "yelp";
  const TemporaryFolder folder;
  {
    std::ofstream train(folder / "train.tsv");
    train << "text\tlabel\n";
    for (const char* side : {"neg", "pos"}) {
      std::ifstream texts(shared + "yelp/train." + side);
      for (std::string line; std::getline(texts, line);) train << line << '\t' << side << '\n';
    }
  }
  const InducedLexicon lexicon = induce_lexicon({folder / "train.tsv"}, {.label = "label"});

  std::unordered_map<std::string, double> induced;
  for (const InducedWord& word : lexicon.words) induced.emplace(word.words, word.polarity);
  std::size_t common = 0, agree = 0;
  std::ifstream vader(shared + "lexicons/vader.tsv");
  for (std::string line; std::getline(vader, line);) {
    const std::size_t tab = line.find('\t');
    const auto found = induced.find(line.substr(0, tab));
    if (found == induced.end()) continue;
    ++common;
    agree += found->second * std::stod(line.substr(tab + 1)) > 0.0 ? 1 : 0;
  }
  const double agreement = static_cast<double>(agree) / static_cast<double>(common);

  const PolaritySum sum(lexicon.words);
  const Annotator annotator(nullptr, {Lexicon::parse(to_tsv(lexicon), "induced")});
  const auto sum_of_features = [&](const std::string& text) {
    double all = 0.0;
    for (const AnnotatedWord& word : annotator.annotate(text)) all += static_cast<double>(word.attributes[0]);
    return all;
  };
  std::size_t texts = 0, right = 0, right_by_features = 0;
  for (const bool positive : {false, true}) {
    std::ifstream dev(shared + "yelp/dev." + (positive ? "pos" : "neg"));
    for (std::string line; std::getline(dev, line); ++texts) {
      right += sum(line) * (positive ? 1 : -1) > 0.0 ? 1 : 0;
      right_by_features += sum_of_features(line) * (positive ? 1 : -1) > 0.0 ? 1 : 0;
    }
  }
  const double decided = static_cast<double>(right) / static_cast<double>(texts);
  const double by_features = static_cast<double>(right_by_features) / static_cast<double>(texts);
  // scripts/measure_lexicon reads this.
  std::cout << "lexicon {\"words\": " << lexicon.words.size() << ", \"common\": " << common
            << ", \"agreement\": " << agreement << ", \"dev_texts\": " << texts << ", \"decided\": " << decided
            << ", \"decided_by_features\": " << by_features
            << ", \"held_out\": " << static_cast<double>(lexicon.held_out_right) / static_cast<double>(lexicon.held_out)
            << "}\n";
  EXPECT_GT(common, 300U);
  EXPECT_GE(agreement, 0.85);
  EXPECT_GE(decided, 0.90);
  EXPECT_GE(by_features, 0.90);  // What rows say in order is worth as much.
}

}  // namespace
}  // namespace semfuse
