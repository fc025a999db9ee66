#include "data/builtin_corpora.h"

#include <gmock/gmock.h>

#include <map>

#include "data/record_reader.h"

namespace semfuse {
namespace {

TEST(BuiltinCorpora, ABareNameIsOne) {
  EXPECT_NE(find_builtin_corpus("everyday"), nullptr);
  EXPECT_EQ(find_builtin_corpus("./everyday"), nullptr);
  EXPECT_EQ(find_builtin_corpus("everyday.txt"), nullptr);
  EXPECT_EQ(find_builtin_corpus(""), nullptr);
  EXPECT_THAT(builtin_corpus_names(), testing::Contains("everyday"));
}

TEST(BuiltinCorpora, IsReadLikeAFile) {
  RecordReader reader({"everyday"}, {});
  std::map<char, std::size_t> marks;
  for (Record record; reader.next(record);) ++marks[record.text.back()];
  EXPECT_EQ(reader.counts().texts, 39895U);  // As corpora/README.md says.
  EXPECT_EQ(reader.counts().empty, 0U);
  EXPECT_EQ(reader.bytes_read(), reader.bytes_total());
  EXPECT_GT(marks['?'], 10000U);
  EXPECT_GT(marks['!'], 500U);
}

}  // namespace
}  // namespace semfuse
