#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "command.h"
#include "io/json_writer.h"
#include "run/verification.h"
#include "semfuse/error.h"
#include "terminal.h"

namespace semfuse {
namespace {

struct VerifyFlags {
  std::string path;
  bool json = false;
};

int run(const VerifyFlags& options) {
  const std::vector<Finding> findings = verify(options.path);
  const Terminal terminal(stdout);
  if (options.json) {
    Json list = Json::array();
    for (const Finding& finding : findings) {
      list.push_back({{"file", finding.path.string()}, {"whole", finding.whole}, {"text", finding.text}});
    }
    terminal.print(list.dump() + '\n');
  } else {
    for (const Finding& finding : findings) {
      constexpr std::size_t kIndent = 9;  // Behind the verdict.
      const std::string line = fmt::format("{:9}{}  {}", finding.whole ? "whole" : "DAMAGED",
                                           printable(finding.path.string()), printable(finding.text));
      const std::string shown = terminal.flowed(line, kIndent);
      const std::string verdict = shown.substr(0, kIndent);
      terminal.print((finding.whole ? terminal.green(verdict) : terminal.red(verdict)) + shown.substr(kIndent) + '\n');
    }
  }
  const auto damaged = std::count_if(findings.begin(), findings.end(), [](const auto& f) { return !f.whole; });
  if (damaged == 0) return 0;
  const auto first = std::find_if(findings.begin(), findings.end(), [](const auto& f) { return !f.whole; });
  if (findings.size() == 1) throw Error(fmt::format("{}: {}", first->path.string(), first->text));
  throw Error(fmt::format("{}: {} of {} files are damaged, the first is {}", options.path, damaged, findings.size(),
                          first->path.string()));
}

}  // namespace

Command verify_command(CommandLine& program) {
  CommandLine* app = program.add_subcommand("verify", "Check a file or a run: structure, checksum, finite numbers");
  const auto options = std::make_shared<VerifyFlags>();
  app->add_option("RUN_OR_FILE", options->path, "A run folder or a .safetensors file")->required();
  app->add_flag("--json", options->json, "Print one JSON list");
  app->footer(
      "Exit code 0: everything is whole; 2: something is damaged or missing.\n\n"
      "Examples:\n"
      "  semfuse verify run\n"
      "  semfuse verify run/model.safetensors\n");
  return {.app = app, .purpose = "this file", .run = [options] { return run(*options); }};
}

}  // namespace semfuse
