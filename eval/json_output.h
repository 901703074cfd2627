// Where a command's JSON and its table go. JSON goes to --out; else to standard output, unless that is a terminal and
// --json does not ask for it: a person gets the table alone. Wherever JSON goes to standard output, the table goes to
// standard error.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "engine/io/output_kind.h"

namespace sink {

struct JsonOutput {
  std::string out;     // --out; empty: standard output
  bool json = false;   // --json
  bool force = false;  // --force

  // Before anything is computed: throws Error (Exit::usage) where --out would replace a file of another kind.
  void require_free(const OutputKind& kind) const;
  void write(const std::string& table, const std::string& json_text) const;
};

// --json; and --out and --force, where the command has them: `what` is written, and a file that is no such `kind` is
// only replaced by --force.
CLI::Option* add_json_option(CLI::App* command, JsonOutput& output);
void add_json_output_options(CLI::App* command, JsonOutput& output, const std::string& what, const std::string& kind);

}  // namespace sink
