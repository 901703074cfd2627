#include "train/initial_model.h"

#include <cstdio>

#include "engine/data/same_data.h"
#include "engine/io/build_info.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/precision.h"
#include "model/model_checkpoint.h"
#include "model/open/open_model.h"
#include "model/size_settings.h"

namespace sink {
namespace {

void require_same_sizes(const Checkpoint& checkpoint, Sizes wanted) {
  wanted = resolve_defaults(wanted);
  Sizes stored = resolve_defaults(sizes_of(checkpoint));
  // The context only says how long sequences may be, and what rotations are scaled for if rotary_context is not set.
  if (wanted.rotary_factor != 1) {
    stored.rotary_context = stored.first_context();
    wanted.rotary_context = wanted.first_context();
  }
  stored.context = wanted.context;
  for (const Setting<Sizes>& size : size_settings()) {
    const std::string has = plain_text(size.value(stored)), wants = plain_text(size.value(wanted));
    if (has == wants) continue;
    const std::string remedy = size.flag == "vocabulary" ? "data of the same tokens" : size.option() + " " + has;
    throw Error("--initial: " + checkpoint.path + " has " + size.key() + " = " + has + ", this run has " + wants +
                    ": give " + remedy,
                Exit::usage);
  }
}

// Whether `init` wrote the checkpoint. False for one that was trained, imported or made by other means.
bool is_initial_checkpoint(const std::string& path) {
  try {
    Checkpoint checkpoint = load_checkpoint(path);
    return checkpoint.attributes["step"] == "0" && checkpoint.attributes.contains("commit") &&
           !checkpoint.attributes.contains("imported_from");
  } catch (const Error& error) {
    if (error.code == Exit::out_of_memory) throw;  // which says nothing about the file
    return false;
  }
}

}  // namespace

std::unique_ptr<LanguageModel> make_run_model(const RunConfig& config, const Ablation& ablation,
                                              std::int64_t vocabulary) {
  return ablation.make_model(model_sizes(config, vocabulary), init_scheme(config.init), config.seed,
                             stored_type(config.precision), device_named(config.device));
}

std::unique_ptr<LanguageModel> make_unallocated_model(const RunConfig& config, const Ablation& ablation,
                                                      std::int64_t vocabulary) {
  return ablation.make_model(model_sizes(config, vocabulary), InitScheme::uninitialized, config.seed,
                             stored_type(config.precision), Device::cpu);
}

std::string load_initial(const RunConfig& config, const Ablation& ablation, const DataSource* data,
                         LanguageModel& model) {
  if (config.initial.empty()) return "";
  if (is_open_model(config.initial))
    throw Error("--initial: " + config.initial + " is a model of another program: give the checkpoint that `eval_" +
                    ablation.name + " import " + config.initial + " OUT.h5` makes of it",
                Exit::usage);
  Checkpoint checkpoint = load_checkpoint(config.initial);
  require_policy(checkpoint, ablation.name, ablation.policies, "train_" + ablation.name);
  require_same_sizes(checkpoint, model.sizes());
  if (data) note_other_data(checkpoint, *data, config.data);
  restore_parameters(checkpoint, model);
  return parameters_checksum(checkpoint);
}

int init_main(int argc, char** argv, const Ablation& ablation) {
  std::string program = "train_" + ablation.name + " init";
  return run_program(program.c_str(), [&] {
    InitRequest request;
    if (!parse_init_request(argc - 1, argv + 1, ablation, request)) return 0;
    const RunConfig& config = request.config;
    std::unique_ptr<DataSource> data;
    if (config.task != "text" || !config.data.empty()) data = make_data_source(config, config.context, config.prefix);
    if (!data && config.vocabulary == 0)
      throw Error("--vocabulary is needed (or --data or --task, which have one)", Exit::usage);
    if (data && config.vocabulary > 0 && config.vocabulary != data->vocabulary())
      throw Error("--vocabulary is " + std::to_string(config.vocabulary) + ", but the data has " +
                      std::to_string(data->vocabulary()) + " tokens: leave it out",
                  Exit::usage);
    auto model = make_run_model(config, ablation, data ? data->vocabulary() : config.vocabulary);
    load_initial(config, ablation, data.get(), *model);
    require_output(request.out, {"an initial checkpoint of train_<ablation> init", is_initial_checkpoint},
                   config.force);

    Checkpoint checkpoint;
    store_model(ablation, *model, checkpoint);
    checkpoint.attributes.insert({{"step", "0"},
                                  {"tokens", "0"},
                                  {"seed", std::to_string(config.seed)},
                                  {"precision", config.precision},
                                  {"commit", build_commit()},
                                  {"config_toml", to_toml(config)}});
    if (data) store_data(*data, checkpoint);
    save_checkpoint(request.out, checkpoint);
    std::printf("%s\n", printable(request.out).c_str());
    return 0;
  });
}

}  // namespace sink
