// The outputs of a command: JSON and a table. JSON goes to --out, or else to standard output, but to a terminal only
// with
// --json. The table goes to standard output if that is a terminal without JSON, otherwise to standard error.
#pragma once

#include <string>

#include "engine/io/output_kind.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sink {

struct JsonOutput {
  std::string out;     // --out; empty: standard output
  bool json = false;   // --json
  bool force = false;  // --force

  // Called before the computation. Throws Error (Exit::usage) if --out would replace a file of another kind, or be a
  // run's own measurement.
  void require_free(const OutputKind& kind) const;
  void write(const std::string& table, const std::string& json_text) const;
};

// --json; the second function also adds --out, which writes `what`, and --force, which lets it replace a file that is
// no `kind`.
CLI::Option* add_json_option(CLI::App* command, JsonOutput& output);
void add_json_output_options(CLI::App* command, JsonOutput& output, const std::string& what, const std::string& kind);

}  // namespace sink
