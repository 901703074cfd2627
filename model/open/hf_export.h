// A model of ours as a folder that Hugging Face's transformers loads: config.json, model.safetensors, the tokenizer.
#pragma once

#include <string>

#include "model/ablation.h"

namespace sink {

struct ExportedTokenizer {
  std::string json;               // tokenizer.json; empty: none
  std::int64_t begin_token = -1;  // before every text; -1: none
};

// The type that a model is to be loaded in: F64 where files of the family hold other numbers than the parameters are,
// which rounded to F32 would not lead back to them.
DType export_type(const Ablation& ablation);

// The numbers are F32, those that products read on the CPU; an unembedding that is the embedding, number by number, is
// written once. What is read of the folder again is the same to the bit, but for the embedding of Gemma, whose file has
// what gives it when multiplied with sqrt(C), to F32's last bit. Written beside `folder` and renamed when all of it is
// safe on the disk. Throws Error: Exit::usage where transformers has no such model, naming what it lacks, and where
// `folder` is there already; Exit::io.
void export_hf(const Ablation& ablation, const LanguageModel& model, const ExportedTokenizer& tokenizer,
               const std::string& folder);

}  // namespace sink
