#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "backbone/foreign_model.h"
#include "backbone/imported_model.h"
#include "backbone/tokenizer_files.h"
#include "command.h"
#include "io/json_writer.h"
#include "io/quoted_text.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "semfuse/tokenizer.h"
#include "table.h"
#include "text/token_ids.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxInput = std::size_t{1} << 30;

struct TokenizeFlags {
  std::string model;
  std::optional<std::string> text;
  bool json = false;
  bool decode = false;
  bool specials = false;
};

struct Tokens {
  std::vector<TokenId> ids;
  std::vector<std::string> surfaces;
};

// Text and ids as a model has them: those of its tokenizer, or the words of its vocabulary.
class Coder {
 public:
  explicit Coder(const std::string& path) : words_(load(path)) {}

  Tokens encode(const std::string& text, bool specials) const {
    Tokens tokens;
    if (const auto* tokenizer = std::get_if<Tokenizer>(&words_)) {
      for (const Token& token : specials ? tokenizer->encode_with_specials(text) : tokenizer->encode(text)) {
        tokens.ids.push_back(token.id);
        tokens.surfaces.push_back(text.substr(token.begin, token.end - token.begin));
      }
      return tokens;
    }
    tokens.surfaces = split_words(text);
    const std::vector<TokenId> ids = std::get<Vocabulary>(words_).encode(tokens.surfaces);
    tokens.ids.assign(ids.begin() + 1, ids.end() - 1);  // Without <bos> and <eos>.
    return tokens;
  }

  std::string decode(const std::vector<TokenId>& ids) const {
    if (const auto* tokenizer = std::get_if<Tokenizer>(&words_)) return tokenizer->decode(ids);
    const auto& vocabulary = std::get<Vocabulary>(words_);
    Sentence sentence;
    for (const TokenId id : ids) {
      if (id < 0 || static_cast<std::size_t>(id) >= vocabulary.size()) {
        throw Error(
            fmt::format("id {} is none of the model's, which are below {}; take it out", id, vocabulary.size()));
      }
      if (id > Vocabulary::kEos) sentence.push_back(vocabulary.word(id));
    }
    return join_words(sentence);
  }

 private:
  using Words = std::variant<Tokenizer, Vocabulary>;

  static Words load(const std::string& path) {
    for (const char* ending : {".json", ".model", ".gguf"}) {
      if (path.ends_with(ending)) return load_any_tokenizer(path);
    }
    if (ImportedModel::is_at(path)) return tokenizer_of(ImportedModel(path).tokenizer(), path);
    if (looks_foreign(path)) {
      const ForeignModel model = open_foreign_model(path);
      return tokenizer_of(model.tokenizer ? &*model.tokenizer : nullptr, path);
    }
    const Checkpoint checkpoint = load_checkpoint(path);
    if (const Tokenizer* tokenizer = checkpoint.model.tokenizer()) return *tokenizer;
    return checkpoint.model.vocabulary();
  }

  static Tokenizer tokenizer_of(const Tokenizer* tokenizer, const std::string& path) {
    if (tokenizer != nullptr) return *tokenizer;
    throw Error(fmt::format("{}: the model came without a tokenizer; import it with --tokenizer", path));
  }

  Words words_;
};

std::string read_standard_input() {
  std::string text;
  std::array<char, 65536> block;
  while (const std::size_t size = std::fread(block.data(), 1, block.size(), stdin)) {
    text.append(block.data(), size);
    if (text.size() > kMaxInput) throw Error("standard input has more than 1 GiB; cut it into several texts");
  }
  if (std::ferror(stdin) != 0) throw Error("cannot read standard input; give the text as an argument");
  return text;
}

// A piece may end within a character: its bytes that are not UTF-8 are written as <0xC3>.
std::string piece_text(std::string_view surface) {
  std::string text;
  while (!surface.empty()) {
    const std::size_t length = utf8_character_length(surface);
    text += length > 0 ? std::string(surface.substr(0, length))
                       : fmt::format("<0x{:02X}>", static_cast<unsigned char>(surface[0]));
    surface.remove_prefix(length > 0 ? length : 1);
  }
  return text;
}

int show_tokens(const TokenizeFlags& options) {
  const Coder coder(options.model);
  const Tokens tokens = coder.encode(options.text ? *options.text : read_standard_input(), options.specials);
  const Terminal terminal(stdout);
  if (options.json) {
    Json pieces = Json::array();
    for (const std::string& surface : tokens.surfaces) pieces.push_back(piece_text(surface));
    terminal.print(Json{{"ids", tokens.ids}, {"pieces", std::move(pieces)}}.dump() + '\n');
    return 0;
  }
  Table table({Table::Align::right, Table::Align::left});
  for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
    table.add({{.text = std::to_string(tokens.ids[i])}, {.text = quoted_text(tokens.surfaces[i])}});
  }
  terminal.print(table.text(terminal, 0, 2));
  return 0;
}

// The bytes as they are, but not to a terminal, which would obey some of them.
int show_text(const TokenizeFlags& options) {
  if (options.text) throw Error("--decode reads ids from standard input; leave out the text");
  const Coder coder(options.model);
  const std::string text = coder.decode(parse_token_ids(read_standard_input(), "standard input"));
  const Terminal terminal(stdout);
  if (!terminal.is_terminal()) {
    terminal.print(text);
    return 0;
  }
  std::string lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines += printable(std::string_view(text).substr(begin, end - begin)) + '\n';
    begin = end + 1;
  }
  terminal.print(lines);
  return 0;
}

}  // namespace

Command tokenize_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("tokenize", "Show the tokens of a text, or the text of tokens");
  const auto options = std::make_shared<TokenizeFlags>();
  app->add_option(
         "MODEL", options->model,
         "A run folder or imported model, its model.safetensors, a foreign model, or its tokenizer.json or .model")
      ->required();
  app->add_option("TEXT", options->text, "The text, in quotes (default: all of standard input)");
  app->add_flag("--json", options->json, R"(Print {"ids": [...], "pieces": [...]})");
  app->add_flag("--specials", options->specials, "Take names of special tokens in the text for those tokens");
  app->add_flag("--decode", options->decode, "Read ids, or that JSON, from standard input and print their text");
  app->footer(
      "Bytes of a piece that are not UTF-8 by themselves are shown as <0xC3>; ids are exact.\n\n"
      "Examples:\n"
      "  semfuse tokenize run \"Alice reviews the paper, very good!\"\n"
      "  semfuse tokenize tokenizer.json --json <text.txt >tokens.json\n"
      "  semfuse tokenize tokenizer.json --decode <tokens.json\n"
      "  echo 104 105 | semfuse tokenize tokenizer.json --decode\n");
  return {.app = app, .purpose = "the tokens of this text", .run = [options] {
            return options->decode ? show_text(*options) : show_tokens(*options);
          }};
}

}  // namespace semfuse
