#include "eval/evaluated_model.h"

#include <cstdio>
#include <filesystem>
#include <set>

#include "engine/io/printable.h"
#include "engine/precision.h"
#include "engine/stored/int8_product.h"
#include "eval/model_path.h"
#include "model/model_checkpoint.h"
#include "model/open/open_model.h"
#include "model/size_settings.h"

namespace sink {
namespace {

// Rotations scaled for the context of the model stay as they are.
Sizes with_context(Sizes sizes, std::int64_t context, const Ablation& ablation) {
  SINK_CHECK(context <= sizes.context || ablation.policies.find("position=Learned") == std::string::npos, "context",
             "the model has a vector for each of " + std::to_string(sizes.context) +
                 " positions, and none for those up to " + std::to_string(context),
             Exit::usage);
  sizes.rotary_context = sizes.first_context();
  sizes.context = context;
  return sizes;
}

// `beyond`: OpenConfig::beyond_context, which an imported checkpoint keeps.
void require_computed(const std::string& path, const Sizes& sizes, const std::string& beyond, std::int64_t context) {
  if (context <= sizes.context || beyond.empty()) return;
  throw Error(path + ": the text has " + std::to_string(context) + " tokens; the model takes at most " +
                  std::to_string(sizes.context) + ", since it " + printable(beyond) + ", which is not computed here",
              Exit::bad_input);
}

EvaluatedModel load_our_checkpoint(const std::string& path, const Ablation& ablation, DType compute, Device device,
                                   std::int64_t context) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw Error(path +
                    " is a folder without config.json: expected a checkpoint (runs/NAME/checkpoint.h5), a GGUF "
                    "file, a .bin of llama2.c, or a folder of Hugging Face with config.json and safetensors",
                Exit::bad_input);
  if (path.ends_with(".safetensors") && std::filesystem::is_regular_file(path, ignored))
    throw Error(path + " holds only weights: expected the folder that holds them and config.json", Exit::bad_input);
  EvaluatedModel evaluated{load_checkpoint(path), nullptr};
  if (context > 0) {
    if (evaluated.checkpoint.attributes.contains("beyond_context"))
      require_computed(path, sizes_of(evaluated.checkpoint), evaluated.checkpoint.attribute("beyond_context"), context);
    const Sizes sizes = with_context(sizes_of(evaluated.checkpoint), context, ablation);
    evaluated.checkpoint.attributes["context"] = std::to_string(sizes.context);
    evaluated.checkpoint.attributes["rotary_context"] = std::to_string(sizes.rotary_context);
  }
  evaluated.model = load_model(evaluated.checkpoint, ablation, compute, "eval_" + ablation.name, device);
  return evaluated;
}

// Adds what the files of the model say of its texts. Throws Error where they are damaged or not supported.
void add_tokenizer(const OpenModel& open, std::map<std::string, std::string>& attributes) {
  const std::optional<Tokenizer> tokenizer = tokenizer_of(open);
  const std::string refusal = text_refusal(open, tokenizer);
  if (!refusal.empty()) attributes["text_refusal"] = refusal;
  if (!tokenizer) return;
  const std::optional<std::int32_t> prefix = prefix_token(open, *tokenizer);
  attributes["begin_rule"] = begin_rule(open);
  if (const std::string note = text_note(open); !note.empty()) attributes["text_note"] = note;
  if (prefix) attributes["prefix_token"] = std::to_string(*prefix);
  if (tokenizer->begin_tokens().size() == 1) attributes["begin_token"] = std::to_string(tokenizer->begin_tokens()[0]);
  if (refusal.empty()) attributes["tokenizer_json"] = tokenizer->json();
}

// --precision int8: throws Exit::usage if no weight can be multiplied in integers; prints which are not.
void check_int8(const LanguageModel& model, const std::string& path) {
  std::int64_t in_integers = 0, all = 0;
  std::set<std::string> others;
  for (const auto& parameter : model.parameters()) {
    if (!parameter->stored()) continue;
    for (const StoredPart& part : parameter->stored()->parts) {
      const std::int64_t count = part.rows * parameter->stored()->columns;
      const bool is_multiplied = !part.transposed && has_int8(part.type);
      all += count;
      if (is_multiplied) in_integers += count;
      if (!is_multiplied) others.insert(layout_of(part.type).name);
    }
  }
  if (in_integers == 0)
    throw Error("--precision int8 multiplies weights that are stored in one of " + int8_types() + ", and " +
                    printable(path) + " has none: use f32 or bf16",
                Exit::usage);
  if (others.empty()) return;
  std::fprintf(stderr, "note: --precision int8: %.1f %% of the stored weights are multiplied in f32, those in %s\n",
               100 * static_cast<double>(all - in_integers) / static_cast<double>(all), joined(others, ", ").c_str());
}

}  // namespace

namespace {

EvaluatedModel load_given(const std::string& given, const Ablation& ablation, DType compute, Device device,
                          const LoadOptions& options) {
  const std::string path = model_path(given);
  if (!is_open_model(path)) return load_our_checkpoint(path, ablation, compute, device, options.context);
  OpenModel open = open_model(path);
  require_computed(path, open.config.sizes, open.config.beyond_context, options.context);
  if (options.context > 0) open.config.sizes = with_context(open.config.sizes, options.context, ablation);
  EvaluatedModel evaluated{{}, open.load(ablation, compute, device, options.in_place, options.needs_logits)};
  const std::string note = model_note(open);
  // A model that is loaded again, for a longer text, had its note.
  if (!note.empty() && options.context == 0) std::fprintf(stderr, "note: %s\n", note.c_str());
  evaluated.checkpoint.path = path;
  auto& attributes = evaluated.checkpoint.attributes;
  if (!open.config.missing_unembedding.empty()) attributes["without_logits"] = "true";
  if (!open.config.beyond_context.empty()) attributes["beyond_context"] = open.config.beyond_context;
  if (const auto ends = end_tokens(open); !ends.empty())
    attributes["end_tokens"] = joined(ends, " ", [](std::int32_t id) { return std::to_string(id); });
  try {
    add_tokenizer(open, attributes);
  } catch (const Error& error) {  // only texts need it
    if (error.code != Exit::corrupt_checkpoint && error.code != Exit::bad_input) throw;
    attributes["text_refusal"] = std::string("its tokenizer cannot be used: ") + error.what();
  }
  return evaluated;
}

}  // namespace

EvaluatedModel load_evaluated(const std::string& given, const Ablation& ablation, DType compute, Device device,
                              const LoadOptions& options) {
  EvaluatedModel evaluated = load_given(given, ablation, compute, device, options);
  const Sizes& sizes = evaluated.model->sizes();
  if (sizes.attention_layers() < sizes.layers && options.context == 0)
    std::fprintf(stderr,
                 "note: of layers 0 to %lld those with attention are %s; the others have a gated delta rule, whose "
                 "weights belong "
                 "to no pair of tokens: heads, patterns and sinks are those of layers with attention\n",
                 static_cast<long long>(sizes.layers - 1), layers_with_attention(sizes).c_str());
  return evaluated;
}

EvaluatedModel load_evaluated(const std::string& path, const Ablation& ablation, const ComputeOptions& compute,
                              const LoadOptions& options) {
  compute.apply();
  EvaluatedModel evaluated =
      load_evaluated(path, ablation, stored_type(compute.precision), device_named(compute.device), options);
  if (use_int8() && options.context == 0) check_int8(*evaluated.model, path);  // else as in model_note
  return evaluated;
}

void print_header(const LanguageModel& model, const std::string& path, const Ablation& ablation,
                  const ComputeOptions& compute) {
  std::fprintf(stderr, "evaluating %s: %s, %s; %s\n", ablation.name.c_str(),
               counted(model.parameters().count(), "parameter").c_str(),
               compute_description(compute.device, compute.precision, compute.reference).c_str(),
               printable(path).c_str());
}

}  // namespace sink
