#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/quoted_text.h"

namespace semfuse {

std::string escaped_html(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    // What is no character, or acts on its reader instead of being seen, becomes a space. XML has none of the former.
    const std::size_t length = utf8_character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(character.size());
    if (length == 0 || is_unsafe_to_show(character)) {
      result += ' ';
      continue;
    }
    switch (character.front()) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += character;
    }
  }
  return result;
}

namespace {

bool is_number(std::string_view cell) {
  for (const std::string_view sign : {"+", "-", "−"}) {
    if (cell.starts_with(sign)) cell.remove_prefix(sign.size());
  }
  return !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
}

// Whether what stands below the heading are numbers, as far as there is something.
bool has_numbers(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  bool any = false;
  for (std::size_t r = 1; r < rows.size(); ++r) {
    if (column >= rows[r].size() || rows[r][column].empty() || rows[r][column] == "–") continue;
    if (!is_number(rows[r][column])) return false;
    any = true;
  }
  return any;
}

}  // namespace

std::vector<std::vector<std::string>> escaped_cells(std::vector<std::vector<std::string>> rows) {
  for (std::vector<std::string>& row : rows) {
    for (std::string& cell : row) cell = escaped_html(cell);
  }
  return rows;
}

std::string html_table(const std::vector<std::vector<std::string>>& rows, std::string_view caption) {
  if (rows.empty()) return "";
  constexpr std::size_t kFewColumns = 4;
  const bool wide = rows.front().size() > kFewColumns;
  std::string text = fmt::format("<div class=\"{}\"><table>\n", wide ? "scroll wide" : "scroll");
  if (!caption.empty()) text += fmt::format("<caption>{}</caption>\n", caption);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += r == 0 ? "<thead><tr>" : "<tr>";
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      const char* tag = r == 0 || c == 0 ? "th" : "td";
      std::string attributes = c > 0 && has_numbers(rows, c) ? " class=\"number\"" : "";
      if (wide && r > 0 && c > 0 && c < rows[0].size()) attributes += fmt::format(" data-label=\"{}\"", rows[0][c]);
      text += fmt::format("<{}{}>{}</{}>", tag, attributes, rows[r][c], tag);
    }
    text += r == 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d0d7de; --paper: #ffffff; --shade: #f6f8fa; --accent: #0b62b8; --warn: #fff8c5; --shadow: rgba(0, 0, 0, .3) }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --paper: #0d1117; --shade: #151b23; --accent: #6cb6ff; --warn: #33290e; --shadow: rgba(255, 255, 255, .35) }} }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }}
main {{ max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }}
h1 {{ font-size: 1.8rem; line-height: 1.2; margin: 0 0 .5rem }}
h2 {{ font-size: 1.25rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem }}
p {{ margin: .6rem 0 }} .soft {{ color: var(--soft) }}
.note {{ background: var(--warn); border-left: 4px solid var(--accent); padding: .6rem .9rem; border-radius: 4px }}
.scroll {{ overflow-x: auto; background: linear-gradient(to right, var(--paper) 30%, transparent) left / 40px 100%, linear-gradient(to left, var(--paper) 30%, transparent) right / 40px 100%, linear-gradient(to right, var(--shadow), transparent) left / 14px 100%, linear-gradient(to left, var(--shadow), transparent) right / 14px 100%; background-repeat: no-repeat; background-attachment: local, local, scroll, scroll }}
table {{ border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; font-size: .92rem }}
caption {{ text-align: left; color: var(--soft); padding-bottom: .3rem }}
th, td {{ padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap }}
.number {{ text-align: right }} td:last-child {{ white-space: normal }} td:last-child:not(.number) {{ min-width: 9rem }} thead th {{ background: var(--shade); font-weight: 600 }} tbody th {{ font-weight: 500 }}
svg.plot {{ width: 100%; max-width: 34rem; height: auto; border: 1px solid var(--line); border-radius: 6px; margin: .6rem 0 }}
@media (max-width: 40rem) {{
main {{ padding: 1.2rem .8rem 3rem }}
th, td {{ white-space: normal; padding: .35rem .4rem }} td:last-child:not(.number) {{ min-width: 0 }}
.wide thead {{ display: none }} .wide table, .wide tbody, .wide caption {{ display: block }}
.wide tr {{ display: block; padding: .4rem 0; border-bottom: 1px solid var(--line) }}
.wide th, .wide td {{ display: flex; justify-content: space-between; gap: 1rem; padding: .1rem 0; border: 0; white-space: normal; text-align: right }}
.wide tbody th {{ font-weight: 600 }} .wide td::before {{ content: attr(data-label); color: var(--soft); text-align: left }}
}}
code, .sample {{ font-family: ui-monospace, monospace; font-size: .9rem }}
</style>
</head>
<body><main>
<h1>{}</h1>
{}
</main></body>
</html>
)",
                     escaped_html(title), escaped_html(title), body);
}

}  // namespace semfuse
