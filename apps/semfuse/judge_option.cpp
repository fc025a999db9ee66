#include "judge_option.h"

#include <chrono>
#include <filesystem>

#include "judge/program_judge.h"
#include "run/run_judge.h"
#include "semfuse/error.h"
#include "settings.h"

namespace semfuse {

std::unique_ptr<Judge> open_judge(const std::string& name, const std::optional<std::string>& patience, const Knob& knob,
                                  const InterruptGuard& interrupt) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(name, ignored)) {
    LinearJudge judge = LinearJudge::load(name);
    require_judge_of(knob, judge, name);
    return std::make_unique<LinearJudge>(std::move(judge));
  }
  if (name.find_first_not_of(' ') == name.npos) throw Error("--judge is empty; name a judge's file, or a command");
  ProgramJudgeOptions how;
  if (const auto seconds = parse_whole_number("--judge-timeout", patience, 1, 1'000'000))
    how.patience = std::chrono::seconds(*seconds);
  how.go_on = [&interrupt] { return interrupt.signal() == 0; };
  return std::make_unique<ProgramJudge>(knob, name, std::move(how));
}

}  // namespace semfuse
