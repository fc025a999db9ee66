#include "grammar/string_formats.h"

#include <fmt/format.h>

#include <vector>

namespace semfuse {
namespace {

struct Format {
  std::string_view name;
  std::string regex;
};

std::string group(std::string_view text) {
  return fmt::format("(?:{})", text);
}

std::vector<Format> make_formats() {
  const std::string year = group("[1-9]\\d{3}|0[1-9]\\d\\d|00[1-9]\\d|000[1-9]");
  const std::string leap_year = group("\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00");
  const std::string day_31 = "(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])";
  const std::string day_30 = "(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)";
  const std::string date =
      group(fmt::format("{}-(?:{}|{}|02-(?:0[1-9]|1\\d|2[0-8]))|{}-02-29", year, day_31, day_30, leap_year));
  const std::string time = "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)";
  const std::string byte = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
  const std::string ipv4 = group(fmt::format("(?:{}\\.){{3}}{}", byte, byte));
  const std::string hex = "[0-9a-fA-F]{1,4}";
  std::string ipv6 = fmt::format("(?:{0}:){{7}}{0}|(?:{0}:){{6}}{1}", hex, ipv4);
  for (int before = 0; before <= 7; ++before) {  // Groups before "::", the rest behind it.
    const std::string left = before == 0 ? "" : fmt::format("{0}(?::{0}){{{1}}}", hex, before - 1);
    const int behind = 7 - before;
    std::string right;
    if (behind > 0) right = fmt::format("{0}(?::{0}){{0,{1}}}", hex, behind - 1);
    ipv6 += fmt::format("|{}::{}", left, right.empty() ? "" : fmt::format("(?:{})?", right));
    if (behind >= 2) ipv6 += fmt::format("|{}::(?:{}:){{0,{}}}{}", left, hex, behind - 2, ipv4);
  }
  const std::string label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  const std::string hostname = group(fmt::format("{0}(?:\\.{0}){{0,30}}", label));
  const std::string free_label = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
  const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  const std::string uri_character = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
  const std::string authority = fmt::format(
      "(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{{2}})*@)?(?:[A-Za-z0-9._~!$&'()*+,;=-]|"
      "%[0-9A-Fa-f]{{2}})+(?::\\d{{0,5}})?");
  const std::string query = fmt::format("(?:\\?(?:{0}|[/?])*)?(?:#(?:{0}|[/?])*)?", uri_character);
  const std::string hierarchy =
      fmt::format("(?://{1}(?:/{0}*)*|/(?:{0}+(?:/{0}*)*)?|{0}+(?:/{0}*)*)", uri_character, authority);
  const std::string uri = fmt::format("[A-Za-z][A-Za-z0-9+.-]*:{}{}", hierarchy, query);
  const std::string reference = fmt::format("(?:{}|(?://{}(?:/{}*)*)?(?:/?[A-Za-z0-9._~!$&'()*+,;=@-]+(?:/{}*)*)?{})",
                                            uri, authority, uri_character, uri_character, query);
  const std::string amount = "(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)";
  const std::string clock = "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)";
  return {{"date", date},
          {"time", time},
          {"date-time", fmt::format("{}[Tt]{}", date, time)},
          {"duration", fmt::format("P(?:{0}(?:{1})?|{1}|\\d+W)", amount, clock)},
          {"uuid", "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"},
          // Labels of a domain without their limit, which would be thousands of states.
          {"email", fmt::format("{0}(?:\\.{0})*@{1}(?:\\.{1})*", atom, free_label)},
          {"hostname", hostname},
          {"ipv4", ipv4},
          {"ipv6", ipv6},
          {"uri", uri},
          {"uri-reference", reference},
          {"json-pointer", "(?:/(?:[^~/]|~[01])*)*"}};
}

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = make_formats();
  return kFormats;
}

}  // namespace

std::optional<std::string> regex_of_format(std::string_view name) {
  for (const Format& format : formats()) {
    if (format.name == name) return "^(?:" + format.regex + ")$";
  }
  return std::nullopt;
}

std::string known_formats() {
  std::string text;
  for (const Format& format : formats()) text.append(text.empty() ? "" : ", ").append(format.name);
  return text;
}

}  // namespace semfuse
