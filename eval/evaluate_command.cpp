#include "eval/evaluate_command.h"

#include <algorithm>
#include <set>

#include "engine/io/build_info.h"
#include "engine/io/program.h"
#include "eval/eval_command.h"

namespace sink {

namespace {

// The arguments in the order CLI11 takes them, the last first. `--text ...` alone asks for an explanation.
std::vector<std::string> without_the_word(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const std::set<std::string> of_the_program{"-h", "--help", "--version"};
  if (!words.empty() && words[0].starts_with("-") && !of_the_program.contains(words[0]))
    words.insert(words.begin(), "explain");
  std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace

int eval_main(int argc, char** argv, const Ablation& ablation) {
  std::string program = "eval_" + ablation.name;
  return run_program(program.c_str(), [&] {
    CLI::App app("Measures checkpoints of the `" + ablation.name + "` ablation.\nPolicies: " + ablation.policies,
                 program);
    app.require_subcommand(1);
    app.set_version_flag("--version", program + "\npolicies: " + ablation.policies + "\ncommit: " + build_commit());
    const EvalCommand commands[] = {sink_command(app, ablation), logits_command(app, ablation),
                                    tokens_command(app, ablation), explain_command(app, ablation)};
    app.footer("Exit codes: 0 done, 2 usage, 3 bad input, 4 checkpoint damaged or of another policy, 8 disk.");
    try {
      app.parse(without_the_word(argc, argv));
    } catch (const CLI::Success& help) { return app.exit(help); } catch (const CLI::ParseError& error) {
      throw Error(std::string(error.what()) + "; --help lists the flags", Exit::usage);
    }
    for (const EvalCommand& command : commands)
      if (command.line->parsed()) return command.run();
    return static_cast<int>(Exit::usage);  // never: one is required
  });
}

}  // namespace sink
