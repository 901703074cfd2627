// Exports a model as a folder for Hugging Face transformers: config.json, model.safetensors, the tokenizer, and
// transformer_lens_adapter.py, which opens the folder in TransformerLens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/ablation.h"

namespace sink {

struct ExportedTokenizer {
  std::string json;                           // tokenizer.json; empty: none
  std::int64_t begin_token = -1;              // before every text; -1: none
  std::vector<std::int32_t> end_tokens = {};  // generation ends at one of them
};

// The type to load a model in for export: F64 for families whose files store transformed values, which rounded to F32
// could not be inverted.
DType export_type(const Ablation& ablation);

// Writes F32 weights; an unembedding equal to the embedding is written once. Reading the folder restores the same bits,
// except for the embedding of Gemma, which is divided by sqrt(C) and restored to the last bit of F32. Writes to a
// temporary folder that is renamed when it is flushed to the disk. Throws Error: Exit::usage if transformers lacks such
// a model (the message names what it lacks) or `folder` exists; Exit::io.
void export_hf(const Ablation& ablation, const LanguageModel& model, const ExportedTokenizer& tokenizer,
               const std::string& folder);

}  // namespace sink
