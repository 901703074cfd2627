// A model of another program, read in place: a folder of Hugging Face, a GGUF file, or a .bin of llama2.c.
#pragma once

#include <memory>
#include <string>

#include "model/ablation.h"
#include "model/open/family_weights.h"
#include "model/open/open_config.h"

namespace sink {

struct OpenModel {
  std::string path;
  OpenConfig config;
  std::shared_ptr<const WeightFile> file;

  // Its mathematics with its weights: matrices stay where they are, as they are, but on the CUDA device, in F64 and not
  // `in_place`, where all are numbers of their own.
  // Throws Error: Exit::usage where `ablation` has other policies than the family's, Exit::corrupt_checkpoint where
  // tensors do not fit.
  std::unique_ptr<LanguageModel> load(const Ablation& ablation, DType compute, Device device = Device::cpu,
                                      bool in_place = true) const;
};

// Whether a path is one of these, and not a checkpoint: a folder with config.json, or a file that begins as GGUF or
// ends in .bin.
bool is_open_model(const std::string& path);
// Throws Error: Exit::bad_input where something is missing, Exit::corrupt_checkpoint where it is damaged or not known.
OpenModel open_model(const std::string& path);

}  // namespace sink
