// sinklab: every command of eval_<ablation> for a model of any family; which one it is, it finds in the file.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "eval/model_path.h"
#include "eval/sink/evaluate_command.h"
#include "model/all_ablations.h"
#include "model/open/open_model.h"
#include "tools/sinklab/ablation_of_model.h"
#include "tools/sinklab/atlas.h"

namespace sink {
namespace {

using Words = std::vector<std::string>;

EvalProgram program() {
  return {.name = "sinklab",
          .what =
              "Shows where the attention of a language model goes. Reads GGUF files, Hugging Face folders, models in "
              "the cache of the Hugging Face hub, checkpoints and folders of runs.",
          .note = "sinklab MODEL --text \"hello\" is sinklab attention MODEL --text \"hello\".",
          .version_details = "families: " + family_names(),
          .usage = "sinklab [COMMAND] MODEL [OPTIONS]",
          .more_commands = {atlas_command}};
}

bool is_command(const std::string& word) {
  Words names = eval_command_names();
  names.push_back("atlas");
  return std::find(names.begin(), names.end(), word) != names.end();
}

// "MODEL ..." becomes "attention MODEL ...", as do options without a command; "MODEL sink ..." becomes "sink MODEL
// ...".
Words with_command(Words words) {
  if (is_command(words[0])) return words;
  if (words.size() > 1 && is_command(words[1]))
    std::swap(words[0], words[1]);
  else
    words.insert(words.begin(), "attention");
  return words;
}

// The model of a command line: the word after the command, or that of --model; empty where there is none.
std::string model_of(const Words& words) {
  for (std::size_t n = 1; n < words.size(); ++n)
    for (const std::string flag : {"--model", "--checkpoint"}) {
      if (words[n] == flag && n + 1 < words.size()) return words[n + 1];
      if (words[n].starts_with(flag + "=")) return words[n].substr(flag.size() + 1);
    }
  return words.size() > 1 && !words[1].starts_with("-") ? words[1] : "";
}

bool asks_for_help(const Words& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word == "-h" || word == "--help" || word == "--help-all" || word == "--version" || word == "--man" ||
           word.starts_with("--completion");
  });
}

int run(Words words) {
  if (words.empty()) words = {"--help"};
  if (asks_for_help(words))
    return run_eval(program(), words[0].starts_with("-") ? words : with_command(words), ablation_named("baseline"));
  words = with_command(std::move(words));
  if (words[0] == "atlas") return run_eval(program(), words, ablation_named("baseline"));  // it reads several models
  const std::string model = model_of(words);
  if (model.empty()) throw Error("expected a model: sinklab " + printable(words[0]) + " MODEL [OPTIONS]", Exit::usage);
  return run_eval(program(), words, ablation_of_model(model_path(model)));
}

}  // namespace
}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("sinklab", [&] { return sink::run({argv + 1, argv + argc}); });
}
