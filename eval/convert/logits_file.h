// What a model computes on given tokens, number by number, as an HDF5 file for other programs to compare with.
// engine/io/CHECKPOINT.md describes the file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/language_model.h"

namespace sink {

// Runs the model over tokens_NT (I32), `batch` sequences at a time, and writes tokens, logits and losses, and of each
// of `layers` (from 0, in any order) the hidden states around it, queries, keys, values and attention maps. Numbers are
// stored as F64 if `type` is, else as F32. `attributes` are added to those that describe the contents. The file appears
// whole or not at all; until then all of it is in memory. Throws Error: Exit::usage for a layer that is not there,
// Exit::io for the disk.
void write_logits_file(const std::string& path, LanguageModel& model, const Tensor& tokens_NT,
                       const std::vector<std::int64_t>& layers, std::int64_t batch, DType type,
                       const std::map<std::string, std::string>& attributes);

// Whether the file at `path` is one that write_logits_file wrote: a new one may take its place.
bool is_logits_file(const std::string& path);

}  // namespace sink
