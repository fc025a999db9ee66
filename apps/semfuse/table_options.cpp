#include "table_options.h"

namespace semfuse {
std::vector<CommandOption*> TableFlags::add_to(CommandLine& app) {
  return {
      app.add_option("--text", text, "The column that holds the text (default: found by its name, or the longest)")
          ->type_name("COLUMN"),
      app.add_option("--format", format, "txt, tsv, csv or jsonl, for files whose names do not say")
          ->type_name("FORMAT"),
      app.add_option("--heading", heading, "Names of the columns, with commas, for tsv and csv without a line of them")
          ->type_name("NAMES")};
}

CommandOption* TableFlags::add_skip_bad(CommandLine& app) {
  return app.add_flag("--skip-bad", skip_bad,
                      "Leave out rows that are at fault, and say how many, instead of refusing them");
}

}  // namespace semfuse
