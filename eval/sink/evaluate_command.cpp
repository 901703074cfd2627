#include "eval/sink/evaluate_command.h"

#include <algorithm>
#include <set>

#include "engine/io/command_line.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "eval/eval_command.h"

namespace sink {

namespace {

// Options without a command, such as `--text ...`, are those of `explain`.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::set<std::string> of_the_program{"-h", "--help", "--help-all", "--version", "--completion", "--man"};
  if (!words.empty() && words[0].starts_with("-") && !of_the_program.contains(words[0]))
    words.insert(words.begin(), "explain");
  return words;
}

// A first word that is no command: CLI11 would say only that a command is required.
void require_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string names;
  const std::vector<const CLI::App*> commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : commands) {
    if (command->get_name() == argv[1]) return;
    names += (names.empty() ? "" : command == commands.back() ? " or " : ", ") + command->get_name();
  }
  throw Error("`" + printable(argv[1]) + "` is no command of " + app.get_name() + ": expected " + names +
                  "; --text \"...\" explains a text",
              Exit::usage);
}

}  // namespace

int eval_main(int argc, char** argv, const Ablation& ablation) {
  std::string program = "eval_" + ablation.name;
  return run_program(program.c_str(), [&] {
    CLI::App app("Evaluates models of the ablation `" + ablation.name + "` (" + ablation.policies + ").", program);
    app.require_subcommand(1);
    const EvalCommand commands[] = {
        sink_command(app, ablation),     logits_command(app, ablation),        tokens_command(app, ablation),
        explain_command(app, ablation),  interventions_command(app, ablation), quantise_command(app, ablation),
        generate_command(app, ablation), chat_command(app, ablation),          stream_command(app, ablation),
        score_command(app, ablation),    import_command(app, ablation),        export_command(app, ablation)};
    app.footer(
        program + " COMMAND --help describes a command.\n" + program +
        " --text \"hello\" explains a row of attention of an untrained model.\nExit codes: 0 done, 2 usage, 3 bad "
        "input, 4 checkpoint damaged or of another policy, 8 disk.");
    require_command(app, argc, argv);
    if (!parse_command_line(app, arguments_of(argc, argv), {.version_details = "policies: " + ablation.policies}))
      return 0;
    for (const EvalCommand& command : commands)
      if (command.line->parsed()) return command.run();
    return static_cast<int>(Exit::usage);  // never: one is required
  });
}

}  // namespace sink
