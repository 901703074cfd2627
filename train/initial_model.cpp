#include "train/initial_model.h"

#include <cstdio>

#include "engine/printable.h"
#include "model/build_info.h"
#include "model/model_checkpoint.h"
#include "train/data/data_source.h"
#include "train/program.h"

namespace sink {
namespace {

void require_same_sizes(const Checkpoint& checkpoint, const Sizes& wanted) {
  Sizes stored = sizes_of(checkpoint);
  auto require = [&](const char* what, std::int64_t of_checkpoint, std::int64_t of_run) {
    if (of_checkpoint == of_run) return;
    throw Error("--initial: " + checkpoint.path + " has " + what + " = " + std::to_string(of_checkpoint) +
                    ", this run has " + std::to_string(of_run) + ": give the same sizes",
                Exit::usage);
  };
  require("layers", stored.layers, wanted.layers);
  require("heads", stored.heads, wanted.heads);
  require("kv_heads", stored.key_heads(), wanted.key_heads());
  require("width", stored.width, wanted.width);
  require("feed_forward", stored.feed_forward, wanted.feed_forward);
  require("vocabulary", stored.vocabulary, wanted.vocabulary);
}

}  // namespace

std::unique_ptr<LanguageModel> make_run_model(const RunConfig& config, const Ablation& ablation,
                                              std::int64_t vocabulary) {
  Sizes sizes{.layers = config.layers,
              .heads = config.heads,
              .width = config.width,
              .feed_forward = config.feed_forward,
              .context = config.context,
              .vocabulary = vocabulary,
              .kv_heads = config.kv_heads,
              .window = config.window,
              .prefix = config.prefix};
  return ablation.make_model(sizes, init_scheme(config.init), config.seed, dtype_named(config.precision));
}

void load_initial(const RunConfig& config, const Ablation& ablation, LanguageModel& model) {
  if (config.initial.empty()) return;
  Checkpoint checkpoint = load_checkpoint(config.initial);
  require_policy(checkpoint, ablation.name, ablation.policies, "train_" + ablation.name);
  require_same_sizes(checkpoint, model.sizes());
  restore_parameters(checkpoint, model);
}

int init_main(int argc, char** argv, const Ablation& ablation) {
  std::string program = "train_" + ablation.name + " init";
  return run_program(program.c_str(), [&] {
    InitRequest request;
    if (!parse_init_request(argc - 1, argv + 1, ablation.name, ablation.policies, request)) return 0;
    const RunConfig& config = request.config;
    std::unique_ptr<DataSource> data;
    if (config.task != "text" || !config.data.empty()) data = make_data_source(config);
    if (!data && request.vocabulary == 0)
      throw Error("--vocabulary is needed (or --data or --task, which have one)", Exit::usage);
    if (data && request.vocabulary > 0 && request.vocabulary != data->vocabulary())
      throw Error("--vocabulary is " + std::to_string(request.vocabulary) + ", but the data has " +
                      std::to_string(data->vocabulary()) + " tokens: leave it out",
                  Exit::usage);
    auto model = make_run_model(config, ablation, data ? data->vocabulary() : request.vocabulary);
    load_initial(config, ablation, *model);

    Checkpoint checkpoint;
    store_model(ablation, *model, checkpoint);
    checkpoint.attributes["step"] = "0";
    checkpoint.attributes["tokens"] = "0";
    checkpoint.attributes["seed"] = std::to_string(config.seed);
    checkpoint.attributes["precision"] = config.precision;
    checkpoint.attributes["commit"] = build_commit();
    checkpoint.attributes["config_toml"] = to_toml(config);
    if (data && !data->tokenizer_json().empty()) checkpoint.attributes["tokenizer_json"] = data->tokenizer_json();
    save_checkpoint(request.out, checkpoint);
    std::printf("%s\n", printable(request.out).c_str());
    return 0;
  });
}

}  // namespace sink
