// Stores a model in a checkpoint and loads it: names, sizes and values.
#pragma once

#include "engine/io/checkpoint.h"
#include "model/ablation.h"

namespace sink {

inline constexpr const char* kParameters = "parameters/";
// The state of the optimizer of a run, by kind: optimizer/first_moment/<name> ...
inline const std::string kOptimizerFolder = "optimizer/";

// Adds ablation, policies, sizes and every parameter to `checkpoint`. `masters`: a tensor in the layout of the arena,
// for a model that holds only a shard of its parameters.
void store_model(const Ablation& ablation, const LanguageModel& model, Checkpoint& checkpoint,
                 const Tensor& masters = {});

// The sizes of the model in a checkpoint. Throws Exit::corrupt_checkpoint, naming the size, for sizes that are invalid
// or do not match the stored parameters.
Sizes sizes_of(const Checkpoint& checkpoint);

// Copies the values. Throws Exit::corrupt_checkpoint for a shape that does not match, and a parameter that is missing
// or that the model does not have.
void restore_parameters(const Checkpoint& checkpoint, LanguageModel& model);

// The SHA-256 of the parameters, sorted by name: for each its name, a line end and its stored values.
std::string parameters_checksum(const Checkpoint& checkpoint);

// Copies one tensor of the checkpoint into one of equal shape.
void restore_tensor(const Checkpoint& checkpoint, const std::string& path, Tensor& tensor);

// A model of this ablation with the checkpoint's sizes and values; refuses a checkpoint of other policies. All shapes
// are compared before memory is taken, so the model is about as large as its file.
std::unique_ptr<LanguageModel> load_model(const Checkpoint& checkpoint, const Ablation& ablation, DType compute,
                                          const std::string& program, Device device = Device::cpu);

}  // namespace sink
