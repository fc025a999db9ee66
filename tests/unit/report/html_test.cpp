#include "report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/markup.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(EscapedHtml, ReplacesWhatHasAMeaning) {
  EXPECT_EQ(escaped_html(""), "");
  EXPECT_EQ(escaped_html("a – b, 95 %"), "a – b, 95 %");
  EXPECT_EQ(escaped_html("<b>&\"</b>"), "&lt;b&gt;&amp;&quot;&lt;/b&gt;");
  EXPECT_EQ(escaped_html("&amp;"), "&amp;amp;");
  EXPECT_EQ(escaped_html("a\x1b[2Jb\x7f\nc"), "a [2Jb  c");
  EXPECT_EQ(escaped_html("x\xE2\x80\xAEy\xFFz\xC3"), "x y z ") << "direction marks, bytes that are no characters";
}

TEST(HtmlTable, HasHeadingsInTheFirstRowAndColumn) {
  const std::string table =
      html_table({{"metric", "ours", "note"}, {"ppl", "2.1", ""}, {"mse", "–", "<em>0.01</em>"}}, "All of them");
  EXPECT_EQ(markup_fault(table), "");
  EXPECT_THAT(table, HasSubstr("<caption>All of them</caption>"));
  EXPECT_THAT(table, HasSubstr("<thead><tr><th>metric</th><th class=\"number\">ours</th><th>note</th></tr></thead>"));
  EXPECT_THAT(table, HasSubstr("<tr><th>ppl</th><td class=\"number\">2.1</td><td></td></tr>"));
  EXPECT_THAT(table, HasSubstr("<td><em>0.01</em></td>")) << "cells are HTML";
  EXPECT_EQ(count_of("<tr>", table), 3U);
}

TEST(HtmlTable, AWideOneNamesItsCellsForNarrowScreens) {
  const std::string table = html_table(
      {{"metric", "model", "published", "ours &amp; all", "seeds"}, {"ppl", "fusion", "−2.1", "2.2 [2, 3]", "x"}});
  EXPECT_EQ(markup_fault(table), "");
  EXPECT_THAT(table, HasSubstr("<div class=\"scroll wide\">"));
  EXPECT_THAT(table, HasSubstr("<th>ppl</th><td data-label=\"model\">fusion</td>"
                               "<td class=\"number\" data-label=\"published\">−2.1</td>"
                               "<td class=\"number\" data-label=\"ours &amp; all\">2.2 [2, 3]</td>"));
  EXPECT_THAT(html_page("t", table), HasSubstr("content: attr(data-label)"));
}

TEST(HtmlTable, MayBeSmall) {
  EXPECT_THAT(html_table({{"only", "a heading"}}), Not(HasSubstr("<caption>")));
  EXPECT_EQ(markup_fault(html_table({{"only", "a heading"}})), "");
  EXPECT_EQ(markup_fault(html_table({{}, {}})), "");
  EXPECT_EQ(html_table({}), "");
}

TEST(HtmlPage, IsWholeAndNeedsNothingElse) {
  const std::string page = html_page("Results <1>", "<p>Text</p>");
  EXPECT_EQ(markup_fault(page), "");
  EXPECT_THAT(page, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("<title>Results &lt;1&gt;</title>"));
  EXPECT_THAT(page, HasSubstr("<h1>Results &lt;1&gt;</h1>"));
  EXPECT_THAT(page, HasSubstr("<p>Text</p>"));
  EXPECT_THAT(page, HasSubstr("<meta charset=\"utf-8\">"));
  EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
  for (const char* outside : {"http", "src=", "href=", "@import", "url(", "<script", "<link"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

// The check that these tests rest on must be able to fail.
TEST(MarkupFault, FindsWhatIsWrong) {
  EXPECT_EQ(markup_fault("<p class=\"a > b\">x &amp; y<br></p><i/>"), "");
  for (const char* bad : {"<p>", "</p>", "<p><b></p></b>", "a & b", "a > b", "<p", "<a<b>", "<p>x</P>"})
    EXPECT_NE(markup_fault(bad), "") << bad;
}

}  // namespace
}  // namespace semfuse
