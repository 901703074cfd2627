#include "eval/sink/evaluate_command.h"

#include <set>

#include "engine/io/command_line.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"

namespace sink {

namespace {

using MakeCommand = EvalCommand (*)(CLI::App&, const Ablation&);
constexpr MakeCommand kCommands[] = {attention_command, view_command,     lens_command,    sink_command,
                                     logits_command,    tokens_command,   explain_command, interventions_command,
                                     quantise_command,  generate_command, chat_command,    stream_command,
                                     score_command,     import_command,   export_command};

// Options without a command, such as `--text ...`, are those of `explain`.
std::vector<std::string> with_command(std::vector<std::string> words) {
  const std::set<std::string> of_the_program{"-h", "--help", "--help-all", "--version", "--completion", "--man"};
  if (!words.empty() && words[0].starts_with("-") && !of_the_program.contains(words[0]))
    words.insert(words.begin(), "explain");
  return words;
}

// A first word that is no command: CLI11 would say only that a command is required.
void require_command(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0].starts_with("-")) return;
  std::string names;
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) {
    if (command->get_name() == words[0]) return;
    names += (names.empty() ? "" : command == commands.back() ? " or " : ", ") + command->get_name();
  }
  throw Error("`" + printable(words[0]) + "` is no command of " + app.get_name() + ": expected " + names +
                  "; --text \"...\" explains a text",
              Exit::usage);
}

}  // namespace

std::vector<std::string> eval_command_names() {
  CLI::App app;
  std::vector<std::string> names;
  for (MakeCommand make : kCommands) names.push_back(make(app, {}).line->get_name());
  return names;
}

int run_eval(const EvalProgram& program, std::vector<std::string> words, const Ablation& ablation) {
  CLI::App app(program.what, program.name);
  app.require_subcommand(1);
  std::vector<EvalCommand> commands;
  for (MakeCommand make : kCommands) commands.push_back(make(app, ablation));
  for (MakeCommand make : program.more_commands) commands.push_back(make(app, ablation));
  app.footer(program.name + " COMMAND --help describes a command.\n" + program.note +
             "\nExit codes: 0 done, 2 usage, 3 bad input, 4 checkpoint damaged or of another policy, 8 disk.");
  require_command(app, words);
  if (!parse_command_line(app, with_command(std::move(words)),
                          {.version_details = program.version_details, .usage = program.usage}))
    return 0;
  for (const EvalCommand& command : commands)
    if (command.line->parsed()) return command.run();
  return static_cast<int>(Exit::usage);  // never: one is required
}

int eval_main(int argc, char** argv, const Ablation& ablation) {
  const std::string name = "eval_" + ablation.name;
  return run_program(name.c_str(), [&] {
    const EvalProgram program{
        .name = name,
        .what = "Evaluates models of the ablation `" + ablation.name + "` (" + ablation.policies + ").",
        .note = name + " --text \"hello\" explains a row of attention of an untrained model.",
        .version_details = "policies: " + ablation.policies};
    return run_eval(program, {argv + 1, argv + argc}, ablation);
  });
}

}  // namespace sink
