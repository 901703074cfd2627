#include "engine/io/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

#include "engine/check.h"
#include "engine/io/build_info.h"
#include "engine/io/printable.h"
#include "engine/io/setting.h"

namespace sink {
namespace {

constexpr std::size_t kColumns = 80, kNameColumns = 30;
constexpr const char* kHelpGroup = "Help";

// Appends the words of `text` to `out`, whose last line has `column` characters; further lines begin with `indent`
// spaces.
void append_wrapped(std::string& out, std::string_view text, std::size_t column, std::size_t indent) {
  const std::size_t first = column;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const bool begins_line = column == indent || column == first;
    if (!begins_line && column + 1 + word.size() > kColumns) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!begins_line) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Wraps the lines of `text`, but for indented ones, which are examples.
std::string wrapped_lines(const std::string& text) {
  std::string out;
  for (const std::string& line : CLI::detail::split(text, '\n')) {
    if (line.starts_with(' '))
      out += line;
    else
      append_wrapped(out, line, 0, 0);
    out += '\n';
  }
  return out;
}

// What --help shows of a description: "of matrix products" of "of matrix products; tf32 needs a GPU" or of "of matrix
// products [f32]".
std::string first_clause(const std::string& text) { return text.substr(0, std::min(text.find("; "), text.find(" ["))); }

// --help shows a line per option; --help-all shows all options and their whole descriptions.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const CommandLineStyle& style) : common_flags_(style.common_flags), usage_(style.usage) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    whole_ = mode == CLI::AppFormatMode::All;
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at; (at = text.find("\n\n\n")) != std::string::npos;) text.erase(at, 1);
    text.resize(text.find_last_not_of('\n') + 1);
    text += '\n';
    return text;
  }
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::erase_if(options, [&](const CLI::Option* option) {
      return !is_positional && (option->get_positional() || !(whole_ || is_common(option)));
    });
    return options.empty() ? "" : CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
  }
  std::string make_description(const CLI::App* app) const override {
    return wrapped_lines(app->get_description()) + '\n';
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    if (usage_.empty() || app->get_parent()) return CLI::Formatter::make_usage(app, std::move(name));
    return "\nUsage: " + usage_ + "\n\n";
  }
  std::string make_footer(const CLI::App* app) const override { return wrapped_lines(app->get_footer()); }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string text = make_option_desc(option);
    return entry(make_option_name(option, is_positional) + make_option_opts(option),
                 whole_ ? text : first_clause(text));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), first_sentence(command->get_description()));
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (is_positional) return option->get_name(true, false);
    std::string name;
    if (!option->get_snames().empty()) name = "-" + option->get_snames().front();
    if (!option->get_lnames().empty()) name += (name.empty() ? "--" : ", --") + option->get_lnames().front();
    return name;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (!option->get_option_text().empty()) return " " + option->get_option_text();
    if (option->get_type_size() == 0) return "";
    std::string text = " " + type_of(option);
    if (!option->get_default_str().empty()) text += " [" + option->get_default_str() + "]";
    if (option->get_required()) text += " (required)";
    return text;
  }

 private:
  bool is_common(const CLI::Option* option) const {
    const auto& names = option->get_lnames();
    if (common_flags_.empty() || option->get_group() == kHelpGroup) return true;
    return std::any_of(names.begin(), names.end(),
                       [this](const std::string& name) { return common_flags_.contains(name); });
  }

  // CLI11 writes "TEXT:{cpu,cuda}" for one of several words.
  static std::string type_of(const CLI::Option* option) {
    std::string type = option->get_type_name();
    if (const std::size_t choices = type.find(":{"); choices != std::string::npos && type.ends_with("}")) {
      type = type.substr(choices + 2, type.size() - choices - 3);
      std::replace(type.begin(), type.end(), ',', '|');
    }
    return type;
  }

  static std::string entry(const std::string& name, const std::string& text) {
    std::string line = "  " + name + "  ";
    if (line.size() < kNameColumns) line.resize(kNameColumns, ' ');
    if (line.size() > kNameColumns && line.size() + text.size() > kColumns)
      line = "  " + name + '\n' + std::string(kNameColumns, ' ');
    const std::size_t column = line.size() - (line.rfind('\n') + 1);
    append_wrapped(line, text, column, kNameColumns);
    return line + '\n';
  }

  std::set<std::string> common_flags_;
  std::string usage_;
  mutable bool whole_ = false;  // the help that is being made is that of --help-all
};

void set_style(CLI::App& app, const std::shared_ptr<CLI::FormatterBase>& formatter) {
  app.formatter(formatter);
  app.allow_extras();
  app.set_help_flag("-h,--help", "print this help and exit")->group(kHelpGroup);  // after the other groups
  app.set_help_all_flag("--help-all", "print all options with their details and exit")->group(kHelpGroup);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) set_style(*command, formatter);
}

void collect_flags(const CLI::App& app, std::vector<std::string>& flags) {
  for (const CLI::Option* option : app.get_options())
    if (option->get_group() != "")
      for (const std::string& name : option->get_lnames()) flags.push_back(name);
  for (const CLI::App* command : app.get_subcommands()) collect_flags(*command, flags);  // those that were given
}

// "eval_baseline generate", the command that the arguments gave.
std::string command_of(const CLI::App& app) {
  const std::vector<const CLI::App*> given =
      app.get_subcommands([](const CLI::App* command) { return command->parsed(); });
  return app.get_name() + (given.empty() ? "" : " " + given.front()->get_name());
}

std::string advice(const CLI::App& app) { return "; " + command_of(app) + " --help lists the flags"; }

// "checkpoint or --model" of an option that may be given by its place.
std::string names_of_required(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* given) { return given->parsed(); }))
    for (const CLI::Option* option : command->get_options())
      if (option->get_name() == name && option->get_positional()) {
        const std::string place = option->get_name(true, false);
        return place == name ? name : place + " or " + name;
      }
  return name;
}

template <class Kind>
bool is_a(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

// CLI11's message in the form of SettingRule::read.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::string message = error.what();
  const std::string name = message.substr(0, message.find(':')), told = message.substr(message.find(' ') + 1);
  std::string problem = message;
  if (is_a<CLI::ArgumentMismatch>(error) && told.find("missing") != std::string::npos)
    problem = name + " needs a value";       // "--batch: 1 required INT missing"
  else if (is_a<CLI::ExcludesError>(error))  // "--text excludes --tokens"
    problem = message.substr(0, message.find(' ')) + " and " + message.substr(message.rfind(' ') + 1) +
              " exclude each other: give only one";
  else if (is_a<CLI::RequiredError>(error) && message.ends_with(" is required"))
    problem = names_of_required(app, message.substr(0, message.find(' '))) + " is required";
  else if (const std::size_t at = told.find(" not in {"); at != std::string::npos)  // "--input: x not in {text,random}"
    SettingRule{.flag = "",
                .group = "",
                .help = "",
                .of_kind = std::string(),
                .choices = CLI::detail::split(told.substr(at + 9, told.size() - at - 10), ',')}
        .read(told.substr(0, at), name);
  else if (message.starts_with("Could not convert: "))  // "Could not convert: --layers = x"
    problem = message.substr(19, message.find(" = ") - 19) + " must be a number, got `" +
              message.substr(message.find(" = ") + 3) + "`";
  else if (told.starts_with("expected "))
    problem = name + " must be " + told.substr(9);
  throw Error(problem + advice(app), Exit::usage);
}

void require_no_unknown(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty()) return;
  const auto flag =
      std::find_if(unknown.begin(), unknown.end(), [](const auto& word) { return word.starts_with("-"); });
  if (flag == unknown.end())
    throw Error("unexpected argument `" + printable(unknown.front()) + "`; options are given as --name value",
                Exit::usage);
  const std::string name = flag->substr(0, flag->find('='));
  std::vector<std::string> flags;
  collect_flags(app, flags);
  std::string nearest = did_you_mean(name, flags);
  throw Error("unknown flag " + printable(name) + (nearest.empty() ? advice(app) : nearest), Exit::usage);
}

}  // namespace

std::string first_sentence(const std::string& text) {
  const std::size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

bool parse_command_line(CLI::App& app, std::vector<std::string> arguments, const CommandLineStyle& style) {
  set_style(app, std::make_shared<HelpFormatter>(style));
  app.set_version_flag("--version", app.get_name() + " " + build_description() +
                                        (style.version_details.empty() ? "" : "\n" + style.version_details));
  app.get_version_ptr()->description("print version, build and libraries and exit")->group(kHelpGroup);
  if (arguments.size() == 2 && arguments[0] == "--completion" &&
      (arguments[1] == "bash" || arguments[1] == "zsh" || arguments[1] == "fish")) {
    put_text(stdout, completion_script(app, arguments[1]));
    return false;
  }
  if (arguments.size() == 1 && arguments[0] == "--man") {
    put_text(stdout, man_page(app));
    return false;
  }
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Success& asked) {
    app.exit(asked);
    return false;
  } catch (const CLI::ParseError& error) {
    require_no_unknown(app);
    refuse(app, error);
  }
  require_no_unknown(app);
  return true;
}

bool parse_command_line(CLI::App& app, int argc, char** argv, const CommandLineStyle& style) {
  return parse_command_line(app, std::vector<std::string>(argv + 1, argv + std::max(argc, 1)), style);
}

}  // namespace sink
