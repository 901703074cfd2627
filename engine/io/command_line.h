// The command line of every program, read by CLI11: one help format, --version, and errors that name the flag.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sink {

struct CommandLineStyle {
  // Flags without dashes that --help shows; Empty: all.
  std::set<std::string> common_flags = {};
  std::string version_details = {};  // further lines of --version
  std::string usage = {};            // "program [COMMAND] FILE", instead of what CLI11 makes of the options
};

// Parses the arguments by the options of `app` and of its subcommands. Of an option with several names ("--d-model,
// --width"), the help shows the first; the others are for older scripts. The last of several values counts unless the
// option takes all. --help shows a line per flag with the first clause of its description, which ends before "; " or
// " ["; --help-all shows all flags with their whole descriptions.
// Returns false when the arguments ask for --help, --help-all, --version, --completion bash|zsh|fish or --man, whose
// text then is on stdout.
// Throws Exit::usage for an unknown flag, with the most similar one, and for a value that an option refuses.
bool parse_command_line(CLI::App& app, std::vector<std::string> arguments, const CommandLineStyle& style = {});
bool parse_command_line(CLI::App& app, int argc, char** argv, const CommandLineStyle& style = {});

// Returns "Evaluates a model." of "Evaluates a model. It reads ...".
std::string first_sentence(const std::string& text);

// Made from the options of a program (engine/io/command_line_pages.cpp).
// Returns the completion script of a program for "bash", "zsh" or "fish".
std::string completion_script(const CLI::App& app, const std::string& shell);

// Returns the man page of a program in roff, section 1.
std::string man_page(const CLI::App& app);

}  // namespace sink
