// Pieces of a self-contained HTML page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// The text with &, <, > and " replaced; control characters, such as turn the direction of text, and bytes that are not
// UTF-8 become spaces. Also for SVG.
std::string escaped_html(std::string_view text);

// The cells of a table, each by escaped_html.
std::vector<std::vector<std::string>> escaped_cells(std::vector<std::vector<std::string>> rows);

// A table whose first row is its heading and whose first column names the rows. Cells are HTML already, headings of it
// text. Columns of numbers are aligned right. On a narrow screen a table of more than four columns shows its rows as
// lists, a smaller one shows that it scrolls. Without rows there is no table.
std::string html_table(const std::vector<std::vector<std::string>>& rows, std::string_view caption = "");

// A whole page: no file, font or script from elsewhere; light and dark by the reader's preference.
std::string html_page(std::string_view title, std::string_view body);

}  // namespace semfuse
