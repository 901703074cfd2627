// Reads and writes the HuggingFace file format tokenizer.json for BPE over bytes or characters.
#pragma once

#include <string>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

// `json` is the content of the file and `path` what messages call it. Throws Error (Exit::bad_input) where it is no
// such file, or names what is not supported: it reads all that the files of GPT-2, GPT-NeoX, OPT, LLaMA 2 and 3,
// SmolLM, Mistral, Gemma, Qwen 2 and 3 and gpt-oss hold.
BpeModel parse_tokenizer_json(const std::string& json, const std::string& path);

// A tokenizer.json, or what GPT-2 and OPT came as: a vocabulary {"token": id, ...} (encoder.json, vocab.json) with its
// merges in the same folder (vocab.bpe or merges.txt). Such a vocabulary says nothing of special tokens: one with
// </s> is taken for OPT's, whose texts begin with </s>, any other for GPT-2's, with <|endoftext|>. A file NAME.bin is
// taken for a vocabulary of llama2.c. Throws as above, and for added tokens whose ids the `tokenizers` package ignores.
BpeModel read_tokenizer(const std::string& path);

std::string to_tokenizer_json(const BpeModel& model);

}  // namespace sink
