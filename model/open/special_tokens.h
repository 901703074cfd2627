// The files of a Hugging Face folder that say more of a tokenizer than its vocabulary.
#pragma once

#include <string>

#include "engine/data/tokenizer/tokenizer.h"
#include "model/open/family/family.h"

namespace sink {

// Checks a tokenizer that was read from vocab.json and merges.txt, which name no class and no special tokens. Throws
// Error (Exit::corrupt_checkpoint) where it is not certain to be that of the folder: for families without
// such files, for options of tokenizer_config.json, and for tokens of tokenizer_config.json, special_tokens_map.json or
// added_tokens.json that it does not find in texts.
void check_vocabulary_folder(const std::string& folder, const Family& family, const Tokenizer& tokenizer);

// The same for a tokenizer from tokenizer.json: for tokens that these files add to it, and for other flags in
// `added_tokens_decoder`.
void check_special_tokens(const std::string& folder, const Tokenizer& tokenizer);

// Why these files read a text in another way than the tokenizer; empty: they do not. The first: a special token is an
// ordinary one of the vocabulary. `of_vocabulary`: the tokenizer is from vocab.json. The second, for a tokenizer from
// tokenizer.json: `add_bos_token`, `add_eos_token` or `add_prefix_space` contradicts it.
std::string special_tokens_refusal(const std::string& folder, const Tokenizer& tokenizer, bool of_vocabulary);
std::string flags_refusal(const std::string& folder, const Tokenizer& tokenizer);

}  // namespace sink
