#include "report/html.h"

#include <fmt/format.h>

namespace semfuse {

std::string escaped_html(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
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
        // XML has no other control characters.
        result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

std::string html_table(const std::vector<std::vector<std::string>>& rows, std::string_view caption) {
  if (rows.empty()) return "";
  std::string text = "<div class=\"scroll\"><table>\n";
  if (!caption.empty()) text += fmt::format("<caption>{}</caption>\n", caption);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    text += r == 0 ? "<thead><tr>" : "<tr>";
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      const char* tag = r == 0 || c == 0 ? "th" : "td";
      text += fmt::format("<{}>{}</{}>", tag, rows[r][c], tag);
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
:root {{ color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d0d7de; --paper: #ffffff; --shade: #f6f8fa; --accent: #0b62b8; --warn: #fff8c5 }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6edf3; --soft: #9198a1; --line: #3d444d; --paper: #0d1117; --shade: #151b23; --accent: #6cb6ff; --warn: #33290e }} }}
body {{ margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }}
main {{ max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem }}
h1 {{ font-size: 1.8rem; line-height: 1.2; margin: 0 0 .5rem }}
h2 {{ font-size: 1.25rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); padding-bottom: .3rem }}
p {{ margin: .6rem 0 }} .soft {{ color: var(--soft) }}
.note {{ background: var(--warn); border-left: 4px solid var(--accent); padding: .6rem .9rem; border-radius: 4px }}
.scroll {{ overflow-x: auto }}
table {{ border-collapse: collapse; margin: .8rem 0; font-variant-numeric: tabular-nums; font-size: .92rem }}
caption {{ text-align: left; color: var(--soft); padding-bottom: .3rem }}
th, td {{ padding: .35rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }}
th:first-child, td.left {{ text-align: left }} td:last-child {{ white-space: normal; min-width: 9rem }} thead th {{ background: var(--shade); font-weight: 600 }} tbody th {{ font-weight: 500 }}
svg.plot {{ width: 100%; max-width: 44rem; height: auto; border: 1px solid var(--line); border-radius: 6px; margin: .6rem 0 }}
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
