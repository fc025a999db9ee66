// The rows of a model's tokens: the same in prepared data, at once, one at a time, and while text is generated.
#include "features/token_features.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>

#include "data/preparation.h"
#include "features/row_memory.h"
#include "model/model_access.h"
#include "semfuse/generator.h"
#include "semfuse/synthetic_corpus.h"
#include "semfuse/tokenizer_trainer.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

const std::vector<std::string> kWords = {"I",    "don't", "really",  "like", "the",  "soup",  "walked", "very",  "good",
                                         "bad.", "no",    "longer",  "NASA", "3.5",  "café",  "isn't",  "house", "Mr.",
                                         "was",  "“so”",  "(never)", "will", "it's", "zyxwv", "!!",     "and,",  "…"};

std::string random_text(std::mt19937& random, std::size_t most_words) {
  std::string text;
  for (std::size_t i = 1 + random() % most_words; i > 0; --i) {
    if (!text.empty()) text += random() % 20 == 0 ? "  " : " ";
    std::string word = kWords[random() % kWords.size()];
    if (random() % 8 == 0) word = std::string(1 + random() % 6, static_cast<char>('a' + random() % 26));
    text += word;
    if (random() % 6 == 0) text += std::vector<std::string>{".", "!", "?", ",", "..."}[random() % 5];
  }
  return text;
}

Tokenizer tokenizer_of(TokenizerKind kind, bool leading_blank = false) {
  std::mt19937 random(7);
  TokenizerTrainer trainer(TokenizerTrainer::kMostWords, leading_blank);
  for (int i = 0; i < 300; ++i) trainer.add(random_text(random, 12));
  return kind == TokenizerKind::bytes ? Tokenizer::bytes() : trainer.make(kind, 330);
}

FeatureBank english_bank() {
  return FeatureBank(english_lexicon(), {.bank = FeatureSet::natural, .kernel = MembershipKernel::gaussian});
}

std::vector<TokenId> ids_of(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<TokenId> ids;
  for (const Token& token : tokenizer.encode(text)) ids.push_back(token.id);
  return ids;
}

// By the cursor alone.
std::vector<float> rows_one_at_a_time(const TokenFeatures& features, std::span<const TokenId> ids) {
  TokenCursor cursor(features);
  std::vector<float> rows(cursor.row().begin(), cursor.row().end());
  for (const TokenId id : ids) {
    TokenCursor copy = cursor;
    copy.append(ids.front());
    const std::span<const float> row = cursor.append(id);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

class TokenFeaturesOf : public testing::TestWithParam<TokenizerKind> {};

TEST_P(TokenFeaturesOf, OneAtATimeAsAtOnce) {
  const Tokenizer tokenizer = tokenizer_of(GetParam());
  const Vocabulary vocabulary = tokenizer.vocabulary();
  const FeatureBank bank = english_bank();
  const TokenFeatures features(bank, vocabulary, &tokenizer);
  EXPECT_FALSE(features.looks_ahead());
  std::mt19937 random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<TokenId> ids = ids_of(tokenizer, random_text(random, 12));
    const FeatureMatrix whole = features.text_rows(ids);
    ASSERT_EQ(whole.num_rows, ids.size() + 2);
    std::vector<float> prefix(whole.values.begin(),
                              whole.values.end() - static_cast<std::ptrdiff_t>(whole.num_features));
    EXPECT_EQ(features.prefix_rows(ids).values, prefix);
    EXPECT_EQ(rows_one_at_a_time(features, ids), prefix);
  }
}

// Of many texts with one memory, and a lexicon with phrases.
TEST_P(TokenFeaturesOf, RememberedRowsAreTheSame) {
  const Tokenizer tokenizer = tokenizer_of(GetParam());
  const Vocabulary vocabulary = tokenizer.vocabulary();
  const Lexicon lexicon = Lexicon::parse(
      "word\tclass\tpolarity\tstrength\ngood\tword\t0.5\t0\nn't_really\tphrase\t-0.3\t0\nreally\tword\t0\t0.7\n"
      "no_longer_bad\tphrase\t0.4\t0\nno_longer\tphrase\t-0.2\t0\nlonger_bad\tphrase\t-1\t0\n",
      "phrases");
  const FeatureBank bank(lexicon, {.bank = FeatureSet::natural, .kernel = MembershipKernel::gaussian});
  const TokenFeatures features(bank, vocabulary, &tokenizer);
  RowMemory memory(*features.natural());
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const std::vector<TokenId> ids = ids_of(tokenizer, random_text(random, 12));
    memory.begin_text();
    NaturalTokens<RememberedCursor> tokens(features, RememberedCursor(memory));
    std::vector<std::uint32_t> numbers = {tokens.cursor().row()};
    for (const TokenId id : ids) numbers.push_back(tokens.append(id));
    numbers.push_back(tokens.cursor().end());
    const FeatureMatrix rows = features.text_rows(ids);
    ASSERT_EQ(rows.num_rows, numbers.size());
    for (std::size_t t = 0; t < numbers.size(); ++t) {
      EXPECT_TRUE(std::ranges::equal(memory.row(numbers[t]), std::span(rows.row(t), rows.num_features)));
    }
  }
}

// More words than a memory holds, in one text and in several.
TEST(RowMemory, IsRightWhenItIsFull) {
  const FeatureBank bank = english_bank();
  const NaturalBank& natural = *TokenFeatures(bank, Vocabulary({"<pad>", "<bos>", "<eos>"})).natural();
  RowMemory memory(natural, 50);
  std::mt19937 random(5);
  for (const std::size_t num_words : {200, 10, 10}) {
    memory.begin_text();
    RememberedCursor remembered(memory);
    FeatureCursor cursor(natural);
    for (std::size_t i = 0; i < num_words; ++i) {
      std::string word = " ";
      for (int n = 0; n < 5; ++n) word += static_cast<char>('a' + random() % 26);
      if (i % 7 == 0) word = " Walked" + word;
      const std::span<const float> row = cursor.append({word, true});
      ASSERT_TRUE(std::ranges::equal(memory.row(remembered.append({word, true})), row)) << i;
    }
  }
}

// A word of one letter at the beginning of a text is a byte, as the first letter of a word without an entry is.
TEST(TokenFeatures, KnowAWordOfOneLetter) {
  const Tokenizer tokenizer = tokenizer_of(TokenizerKind::words);
  const Vocabulary vocabulary = tokenizer.vocabulary();
  const FeatureBank bank = english_bank();
  const TokenFeatures features(bank, vocabulary, &tokenizer);
  const auto place = std::find(bank.names().begin(), bank.names().end(), "first_person") - bank.names().begin();
  const auto first_person = [&](const std::string& text, std::size_t row) {
    return features.text_rows(ids_of(tokenizer, text)).row(row)[place];
  };
  ASSERT_EQ(tokenizer.encode("I").size(), 1U);
  EXPECT_EQ(first_person("I like the soup.", 1), 1.0f);
  EXPECT_EQ(first_person("I like the soup.", 2), 0.0f);
  ASSERT_EQ(tokenizer.encode("Iqx").size(), 3U);
  EXPECT_EQ(first_person("Iqx like the soup.", 2), 0.0f);
  EXPECT_EQ(first_person("Iqx like the soup.", 3), 0.0f);
  EXPECT_EQ(first_person("Iqx like the soup.", 4), 0.0f);
}

TEST(TokenFeatures, ALeadingBlankChangesNoRow) {
  const Tokenizer plain = tokenizer_of(TokenizerKind::words), leading = tokenizer_of(TokenizerKind::words, true);
  const Vocabulary plain_vocabulary = plain.vocabulary(), leading_vocabulary = leading.vocabulary();
  const FeatureBank bank = english_bank();
  const TokenFeatures features(bank, plain_vocabulary, &plain), same(bank, leading_vocabulary, &leading);
  std::mt19937 random(3);
  std::size_t compared = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const std::string text = random_text(random, 12);
    const std::vector<Token> tokens = plain.encode(text), others = leading.encode(text);
    const auto ends_alike = [](const Token& a, const Token& b) { return a.end == b.end; };
    // Else one of them spells a word that is an entry of the other.
    if (!std::equal(tokens.begin(), tokens.end(), others.begin(), others.end(), ends_alike)) continue;
    EXPECT_EQ(same.text_rows(ids_of(leading, text)).values, features.text_rows(ids_of(plain, text)).values) << text;
    ++compared;
  }
  EXPECT_GT(compared, 20U);
}

TEST_P(TokenFeaturesOf, PreparedDataHoldThem) {
  const Tokenizer tokenizer = tokenizer_of(GetParam());
  const Vocabulary vocabulary = tokenizer.vocabulary();
  const FeatureBank bank = english_bank();
  const TokenFeatures features(bank, vocabulary, &tokenizer);
  const TemporaryFolder folder;
  std::mt19937 random(2);
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) texts.push_back(random_text(random, 30));
  std::ofstream file(folder / "texts.txt");
  for (const std::string& text : texts) file << text << '\n';
  file.close();
  for (const bool cut : {false, true}) {
    std::vector<std::string> bytes;
    for (const std::size_t threads : {std::size_t{1}, std::size_t{3}}) {
      // The second file is what is measured with, so that the training texts are all there, in their order.
      const PreparedData data = prepare({.train = {folder / "texts.txt"},
                                         .val = {folder / "texts.txt"},
                                         .max_length = 16,
                                         .cut = cut,
                                         .given = tokenizer,
                                         .bank = &bank,
                                         .threads = threads},
                                        folder / ("cache" + std::to_string(threads) + (cut ? "c" : "s")));
      ASSERT_EQ(data.train->num_features(), bank.size());
      std::string all;
      std::size_t sequence = 0;
      for (const std::string& text : texts) {
        const std::vector<TokenId> ids = ids_of(tokenizer, text);
        const FeatureMatrix expected = features.text_rows(ids);
        for (std::size_t first = 0; first + 1 < expected.num_rows; first += 15) {
          ASSERT_LT(sequence, data.train->size());
          const std::size_t length = data.train->ids(sequence).size();
          std::vector<float> rows(length * bank.size());
          data.train->copy_features(sequence++, rows);
          ASSERT_EQ(rows, std::vector<float>(expected.row(first), expected.row(first) + rows.size())) << text;
          all.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(float));
          if (cut) break;
        }
      }
      EXPECT_EQ(sequence, data.train->size());
      bytes.push_back(all);
    }
    EXPECT_EQ(bytes[0], bytes[1]);
  }
}

TEST_P(TokenFeaturesOf, GenerationReadsThem) {
  const Tokenizer tokenizer = tokenizer_of(GetParam());
  const LanguageModel model(
      {.width = 16, .layers = 2, .heads = 2, .feed_forward = 16, .attention = AttentionMask::causal}, tokenizer,
      english_bank(), 3);
  const std::size_t vocab_size = model.vocabulary().size();
  const Generator generator(model, 1);
  std::vector<GenerationRequest> requests;
  for (std::uint64_t i = 0; i < 4; ++i) requests.push_back({.prompt = "I didn't", .max_tokens = 40, .index = i});
  // Alone with guesses, and several at a time.
  std::vector<Generation> all = generator.generate(requests);
  all.push_back(generator.generate(requests[0]));
  EXPECT_EQ(all.back().text, all.front().text);
  for (const Generation& generation : all) {
    ASSERT_FALSE(generation.error);
    const std::vector<float> logits = model.logits(generation.words);
    for (std::size_t i = 0; i < generation.tokens.size(); ++i) {
      const float* row = logits.data() + (generation.prompt_tokens + i) * vocab_size;
      double sum = 0.0;  // <pad> and <bos> are never drawn.
      for (std::size_t id = Vocabulary::kEos; id < vocab_size; ++id) sum += std::exp(static_cast<double>(row[id]));
      const double expected = static_cast<double>(row[generation.tokens[i].id]) - std::log(sum);
      EXPECT_NEAR(generation.tokens[i].log_probability, expected, 1e-4);
    }
  }
}

// A word tokenizer cuts "didn't" into "didn" and "'t", which the features know as "did" and "n't".
TEST(TokenFeatures, AWordIsCutAsWordsAre) {
  TokenizerTrainer trainer;
  for (int i = 0; i < 3; ++i) trainer.add("I didn't see, and I didn't in 't");
  const Tokenizer tokenizer = trainer.make(TokenizerKind::words, 400);
  const Vocabulary vocabulary = tokenizer.vocabulary();
  const FeatureBank bank = english_bank();
  const TokenFeatures features(bank, vocabulary, &tokenizer);
  const std::vector<TokenId> ids = ids_of(tokenizer, "I didn't see");
  ASSERT_EQ(ids.size(), 4U);
  const FeatureMatrix rows = features.text_rows(ids);
  const auto value = [&](std::size_t row, const char* name) {
    return rows.row(row)[std::ranges::find(bank.names(), name) - bank.names().begin()];
  };
  EXPECT_EQ(value(2, "negation"), 0.0f);
  EXPECT_EQ(value(3, "negation"), 1.0f);
  EXPECT_EQ(value(3, "past"), 1.0f);
  EXPECT_EQ(value(4, "negated"), 1.0f);
  EXPECT_EQ(rows_one_at_a_time(features, ids), features.prefix_rows(ids).values);
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenFeaturesOf,
                         testing::Values(TokenizerKind::words, TokenizerKind::pieces, TokenizerKind::bytes),
                         [](const auto& kind) { return std::string(to_string(kind.param)); });

// Sentences of the synthetic corpus and others that put its words anywhere.
TEST(SentenceCursor, EqualsReadingThePrefixAnew) {
  const Vocabulary vocabulary = Vocabulary::from_words(synthetic_corpus_words());
  std::vector<Sentence> sentences = make_synthetic_corpus({.seed = 3, .train = 50, .val = 0}).train;
  std::mt19937 random(4);
  for (int i = 0; i < 100; ++i) {
    Sentence& sentence = sentences.emplace_back();
    for (std::size_t w = random() % 20; w > 0; --w) {
      sentence.push_back(vocabulary.entries()[3 + random() % (vocabulary.size() - 3)]);
    }
  }
  for (const FeatureSet set : {FeatureSet::semfuse, FeatureSet::open, FeatureSet::none}) {
    const FeatureBank bank(synthetic_lexicon(), {.bank = set, .learn_kernel = set == FeatureSet::open});
    const TokenFeatures features(bank, vocabulary);
    for (const Sentence& sentence : sentences) {
      const std::vector<TokenId> ids = vocabulary.encode(sentence);
      EXPECT_EQ(rows_one_at_a_time(features, std::span(ids).subspan(1, sentence.size())),
                bank.prefix_rows(sentence).values);
    }
  }
}

}  // namespace
}  // namespace semfuse
