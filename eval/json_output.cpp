#include "eval/json_output.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <set>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"

namespace sink {

namespace {

// Whether the folder of a run keeps its own measurements in a file of this name.
bool is_of_run(const std::filesystem::path& path) {
  static const std::set<std::string> names{"evaluation.json", "evaluation-before.json", "interventions.json"};
  return names.contains(path.filename()) && std::filesystem::exists(path.parent_path() / "config.toml");
}

}  // namespace

void JsonOutput::require_free(const OutputKind& kind) const {
  if (out.empty()) return;
  if (!force && is_of_run(out))
    throw Error(out +
                    " is what `report` and `sweep` read as the run's own measurement; choose another name, or "
                    "--force replaces it",
                Exit::usage);
  require_output(out, kind, force);
}

void JsonOutput::write(const std::string& table, const std::string& json_text) const {
  const bool terminal = ::isatty(STDOUT_FILENO) != 0, prints = out.empty() && (json || !terminal);
  put_text(terminal && !prints ? stdout : stderr, table);
  if (prints) put_text(stdout, json_text);
  if (!out.empty()) write_file_atomically(out, json_text);
}

CLI::Option* add_json_option(CLI::App* command, JsonOutput& output) {
  return command->add_flag("--json", output.json,
                           "print JSON on a terminal, too; pipes and files get it without this flag");
}

void add_json_output_options(CLI::App* command, JsonOutput& output, const std::string& what, const std::string& kind) {
  CLI::Option* json = add_json_option(command, output);
  json->excludes(command->add_option("--out", output.out, "write " + what + " to this file"));
  command->add_flag("--force", output.force, "let --out replace a file that is no such " + kind);
}

}  // namespace sink
