// eval_<ablation> export: a model as a Hugging Face folder.
#include <cstdio>
#include <memory>

#include "engine/io/printable.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/generate/continuation.h"
#include "eval/model_path.h"
#include "eval/sink/trained_on.h"
#include "eval/text_sequences.h"
#include "model/open/hf_export.h"
#include "model/open/open_model.h"

namespace sink {
namespace {

// The fixed first token of a run is the begin token of its folder, which has no key for one at another position.
std::int64_t begin_token_of(const Checkpoint& checkpoint, const TrainedOn& run) {
  if (run.fixed_token < 0 || (run.fixed_position == 1 && run.fixed_to <= 1))
    return first_token(checkpoint, run, "export");
  std::fputs("export: note: texts of the run had a fixed token, not the first, which the folder does not say\n",
             stderr);
  return integer_or(checkpoint, "begin_token", -1);
}

// Those that the files of the model name, else those at which `generate` ends.
std::vector<std::int32_t> end_tokens_of(const Checkpoint& checkpoint) {
  std::vector<std::int32_t> ends = stop_tokens(checkpoint, nullptr);
  if (!ends.empty() || !checkpoint.attributes.contains("tokenizer_json")) return ends;
  const Tokenizer tokenizer = tokenizer_of(checkpoint, "");
  return stop_tokens(checkpoint, &tokenizer);
}

int run_export(const std::string& from, const std::string& folder, const Ablation& ablation) {
  const DType type = is_open_model(model_path(from)) ? export_type(ablation) : DType::F32;
  const auto [checkpoint, model] = load_evaluated(from, ablation, type, Device::cpu, {.in_place = false});
  const ExportedTokenizer tokenizer{.json = attribute_or(checkpoint, "tokenizer_json", ""),
                                    .begin_token = begin_token_of(checkpoint, trained_on(checkpoint, model->sizes())),
                                    .end_tokens = end_tokens_of(checkpoint)};
  export_hf(ablation, *model, tokenizer, folder);
  std::printf("%s\n", printable(folder).c_str());
  return 0;
}

}  // namespace

EvalCommand export_command(CLI::App& app, const Ablation& ablation) {
  auto words = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App* command =
      app.add_subcommand("export",
                         "Writes a model as a Hugging Face folder. AutoModelForCausalLM.from_pretrained loads it: "
                         "config.json, model.safetensors (F32) and, if the checkpoint has a tokenizer, tokenizer.json. "
                         "load() in its transformer_lens_adapter.py opens it in TransformerLens. "
                         "Only ablations that transformers has can be exported, and those with the same policies, such "
                         "as baseline: " +
                             family_names() + ".");
  command->add_option("checkpoint,--model", words->first, kWhatIsEvaluated)->required();
  command->add_option("folder,--out", words->second, "folder to make; nothing may be there")->required();
  command->footer("Example:\n  eval_baseline export runs/first/checkpoint.h5 runs/first/hugging_face");
  return {command, [words, ablation] { return run_export(words->first, words->second, ablation); }};
}

}  // namespace sink
