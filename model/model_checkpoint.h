// Between a model and its checkpoint: names, sizes and values.
#pragma once

#include "engine/io/checkpoint.h"
#include "model/ablation.h"

namespace sink {

inline constexpr const char* kParameters = "parameters/";
// What a run's optimiser keeps, by its kind: optimizer/first_moment/<name> ...
inline const std::string kOptimizerFolder = "optimizer/";

// Adds ablation, policies, sizes and every parameter to `checkpoint`, of `masters` where the model itself has only a
// part of them: a tensor laid out like its arena.
void store_model(const Ablation& ablation, const LanguageModel& model, Checkpoint& checkpoint,
                 const Tensor& masters = {});

// The sizes a checkpoint was made with. Throws Exit::corrupt_checkpoint, naming the size, for those that no model has
// and those that its own parameters do not have: a model of what it returns is no larger than the file.
Sizes sizes_of(const Checkpoint& checkpoint);

// Copies the values in; throws Exit::corrupt_checkpoint when a shape does not fit, a parameter is missing, or one is
// there that the model does not have.
void restore_parameters(const Checkpoint& checkpoint, LanguageModel& model);

// What its parameters are, whatever else the file holds: the SHA-256 of all of them by name, each as its name, a line
// end and its values as stored.
std::string parameters_checksum(const Checkpoint& checkpoint);

// One tensor of the checkpoint into one of equal shape.
void restore_tensor(const Checkpoint& checkpoint, const std::string& path, Tensor& tensor);

// A model of this ablation with the checkpoint's sizes and values; refuses a checkpoint of other policies.
std::unique_ptr<LanguageModel> load_model(const Checkpoint& checkpoint, const Ablation& ablation, DType compute,
                                          const std::string& program, Device device = Device::cpu);

}  // namespace sink
