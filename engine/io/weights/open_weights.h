// Opens the weights of a model, whichever of the formats they come in.
#pragma once

#include <string>

#include "engine/io/weights/weight_file.h"

namespace sink {

// `path` is a folder with model.safetensors or model.safetensors.index.json, or a file: GGUF by its first word, an
// index by the ending .json, llama2.c by .bin, safetensors else. Throws Error: Exit::bad_input where there is no such
// file, Exit::corrupt_checkpoint where it is damaged, or of another format.
WeightFile open_weights(const std::string& path);

}  // namespace sink
