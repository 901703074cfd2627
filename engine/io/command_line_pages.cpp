// Shell completions and man pages, made from the options of a program.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "engine/io/build_info.h"
#include "engine/io/command_line.h"

namespace sink {
namespace {

// What --help-all lists; an option that replaced another is known under its first name.
std::vector<const CLI::Option*> flags_of(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return !option->get_group().empty() && option->nonpositional(); });
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
}

std::string long_name(const CLI::Option& option) { return option.get_lnames().front(); }

// The choices of "TEXT:{cpu,cuda}" or "f32|bf16 [f32]", separated by spaces; "" if the value is free.
std::string choices_of(const CLI::Option& option) {
  std::string text = option.get_type_name();
  if (const std::size_t at = text.find(":{"); at != std::string::npos) {
    text = text.substr(at + 2, text.find('}', at) - at - 2);
    std::replace(text.begin(), text.end(), ',', ' ');
    return text;
  }
  text = option.get_option_text().substr(0, option.get_option_text().find(' '));
  if (text.find('|') == std::string::npos) return "";
  std::replace(text.begin(), text.end(), '|', ' ');
  return text;
}

bool takes_value(const CLI::Option& option) { return option.get_type_size() != 0; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// A body of `case` for bash: the flags after each command, and the choices of the flag before the cursor.
std::string bash_case(const CLI::App& app, const std::string& pattern) {
  std::string flags, choices;
  for (const CLI::Option* option : flags_of(app)) {
    flags += " --" + long_name(*option);
    if (const std::string words = choices_of(*option); !words.empty())
      choices += "        --" + long_name(*option) + ") words='" + words + "' ;;\n";
  }
  for (const CLI::App* command : commands_of(app)) flags += " " + command->get_name();
  return "    " + pattern + ")\n      words='" + flags.substr(std::min<std::size_t>(1, flags.size())) +
         "'\n      case $previous in\n" + choices + "        --*) [[ $current == -* ]] || words= ;;\n      esac ;;\n";
}

std::string bash_script(const CLI::App& app) {
  const std::string name = app.get_name();
  std::string cases;
  for (const CLI::App* command : commands_of(app)) cases += bash_case(*command, command->get_name());
  return "_" + name +
         "() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases + bash_case(app, "*") +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _" +
         name + " " + name + "\n";
}

std::string zsh_arguments(const CLI::App& app) {
  std::string lines;
  for (const CLI::Option* option : flags_of(app)) {
    std::string help = replaced(option->get_description(), "'", "'\\''");
    for (const char* special : {"[", "]", ":"}) help = replaced(help, special, std::string("\\") + special);
    lines += " \\\n    '--" + long_name(*option) + "[" + help + "]";
    if (takes_value(*option)) {
      const std::string words = choices_of(*option);
      lines += ":value:" + (words.empty() ? "_files" : "(" + words + ")");
    }
    lines += "'";
  }
  return "_arguments" + lines + " \\\n    '*:file:_files'\n";
}

std::string zsh_script(const CLI::App& app) {
  std::string text = "#compdef " + app.get_name() + "\n";
  const auto commands = commands_of(app);
  if (commands.empty()) return text + zsh_arguments(app);
  std::string names;
  text += "case $words[2] in\n";
  for (const CLI::App* command : commands) {
    text += "  " + command->get_name() + ") " + zsh_arguments(*command) + "    ;;\n";
    names += " " + command->get_name();
  }
  return text + "  *) (( CURRENT == 2 )) && compadd --" + names + "\n    " + zsh_arguments(app) + "    ;;\nesac\n";
}

std::string fish_lines(const CLI::App& app, const std::string& program, const std::string& condition) {
  std::string text;
  for (const CLI::Option* option : flags_of(app)) {
    text += "complete -c " + program + condition + " -l " + long_name(*option);
    if (!option->get_snames().empty()) text += " -s " + option->get_snames().front();
    if (const std::string words = choices_of(*option); !words.empty())
      text += " -x -a '" + words + "'";
    else if (takes_value(*option))
      text += " -r";
    text += " -d '" + replaced(replaced(option->get_description(), "\\", "\\\\"), "'", "\\'") + "'\n";
  }
  return text;
}

std::string fish_script(const CLI::App& app) {
  const std::string name = app.get_name();
  std::string text;
  for (const CLI::App* command : commands_of(app)) {
    text += fish_lines(*command, name, " -n '__fish_seen_subcommand_from " + command->get_name() + "'");
    text += "complete -c " + name + " -n __fish_use_subcommand -a " + command->get_name() + " -d '" +
            replaced(first_sentence(command->get_description()), "'", "\\'") + "'\n";
  }
  return text + fish_lines(app, name, "");
}

std::string roff(const std::string& text) {
  std::string out = replaced(replaced(text, "\\", "\\\\"), "-", "\\-");
  if (out.starts_with('.') || out.starts_with('\'')) out = "\\&" + out;
  return replaced(replaced(out, "\n.", "\n\\&."), "\n'", "\n\\&'");
}

std::string roff_options(const CLI::App& app) {
  std::string text, group;
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return !o->get_group().empty(); })) {
    const bool is_positional = option->get_lnames().empty() && option->get_snames().empty();
    std::string name = is_positional ? option->get_name(true, false) : "--" + long_name(*option);
    if (!option->get_snames().empty()) name = "-" + option->get_snames().front() + ", " + name;
    std::string value = option->get_option_text();
    if (value.empty() && takes_value(*option)) {
      const std::string words = choices_of(*option);
      value = words.empty() ? option->get_type_name() : replaced(words, " ", "|");
      if (!option->get_default_str().empty()) value += " [" + option->get_default_str() + "]";
    }
    text += ".TP\n.B " + roff(name) + (value.empty() ? "" : " " + roff(value)) + "\n" +
            roff(option->get_description()) + "\n";
  }
  return text;
}

// Indented lines are examples, which keep their line breaks.
std::string roff_paragraphs(const std::string& text) {
  std::string out;
  bool example = false;
  for (const std::string& line : CLI::detail::split(text, '\n')) {
    const bool indented = line.starts_with(' ');
    if (indented != example) out += indented ? ".nf\n" : ".fi\n";
    example = indented;
    out += line.empty() ? ".PP\n" : roff(line) + "\n" + (indented ? "" : ".br\n");
  }
  return out + (example ? ".fi\n" : "");
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  return shell == "bash" ? bash_script(app) : shell == "zsh" ? zsh_script(app) : fish_script(app);
}

std::string man_page(const CLI::App& app) {
  const std::string name = app.get_name(), description = app.get_description();
  std::string summary = first_sentence(description);
  if (summary.ends_with('.')) summary.pop_back();
  std::string text = ".TH " + name + " 1 \"\" \"Sinklab " + build_version() + "\"\n.SH NAME\n" + roff(name) + " \\- " +
                     roff(summary) + "\n.SH SYNOPSIS\n.B " + roff(name) + "\n[OPTIONS]" +
                     (commands_of(app).empty() ? "" : " COMMAND [OPTIONS]");
  for (const CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    text += " " + roff(option->get_name(true, false));
  text += "\n.SH DESCRIPTION\n" + roff_paragraphs(description) + ".SH OPTIONS\n" + roff_options(app);
  if (!commands_of(app).empty()) text += ".SH COMMANDS\n";
  for (const CLI::App* command : commands_of(app))
    text += ".SS " + command->get_name() + "\n" + roff_paragraphs(command->get_description()) + roff_options(*command) +
            roff_paragraphs(command->get_footer());
  return text + ".SH NOTES\n" + roff_paragraphs(app.get_footer());
}

}  // namespace sink
