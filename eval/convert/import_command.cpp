// eval_<ablation> import: a model of another program as a checkpoint.
#include <cstdio>
#include <memory>

#include "engine/io/build_info.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/model_path.h"
#include "model/model_checkpoint.h"
#include "model/open/open_model.h"
#include "model/size_settings.h"

namespace sink {
namespace {

struct ImportOptions {
  std::string model, out;
  bool force = false;
};

bool is_imported(const std::string& path) {
  try {
    return load_checkpoint(path).attributes.contains("imported_from");
  } catch (const Error&) { return false; }
}

// The flags of train_<ablation> for a model of these sizes.
std::string size_flags(const Sizes& sizes) {
  std::string flags;
  for (const Setting<Sizes>& size : size_settings()) {
    const std::string value = plain_text(size.value(sizes));
    if (size.flag != "vocabulary" && value != plain_text(size.value(Sizes{})))
      flags += " " + size.option() + " " + value;
  }
  return flags;
}

int run_import(const ImportOptions& options, const Ablation& ablation) {
  if (!is_open_model(model_path(options.model)))
    throw Error("import: " + options.model +
                    " is no folder with config.json, no GGUF file and no .bin of llama2.c: expected one of these",
                Exit::bad_input);
  auto [checkpoint, model] = load_evaluated(options.model, ablation, DType::F32, Device::cpu, {.in_place = false});
  require_output(options.out, {"a checkpoint of eval_<ablation> import", is_imported}, options.force);
  store_model(ablation, *model, checkpoint);
  checkpoint.attributes.insert({{"step", "0"},
                                {"tokens", "0"},
                                {"seed", "0"},
                                {"precision", "f32"},
                                {"commit", build_commit()},
                                {"imported_from", options.model}});
  save_checkpoint(options.out, checkpoint);
  std::printf("%s\n", printable(options.out).c_str());
  std::fprintf(stderr, "to train on from it: train_%s --initial %s%s\n", ablation.name.c_str(),
               printable(options.out).c_str(), size_flags(model->sizes()).c_str());
  return 0;
}

}  // namespace

EvalCommand import_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<ImportOptions>();
  CLI::App* command = app.add_subcommand(
      "import",
      "Converts another program's model to a checkpoint. It holds the parameters in f32, the tokenizer, the begin "
      "token and the end tokens. Evaluations read it, and train_<ablation> --initial starts from it. Tied embeddings "
      "stay tied in gpt2 and opt; in other families the unembedding becomes a separate parameter with the same "
      "values.");
  command->add_option("model,--model", options->model, kWhatIsEvaluated)->required();
  command->add_option("out,--out", options->out, "checkpoint to write")->required();
  command->add_flag("--force", options->force, "let OUT replace any file; without it, only an imported checkpoint");
  command->footer("Example:\n  eval_llama import SmolLM2-135M.gguf smollm2.h5");
  return {command, [options, ablation] { return run_import(*options, ablation); }};
}

}  // namespace sink
