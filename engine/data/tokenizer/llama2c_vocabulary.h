// Reads the vocabularies of llama2.c (tokenizer.bin, tok512.bin).
#pragma once

#include <string>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

// `bytes` is the content of the file, which `path` names in messages. The file is little-endian: i32, the length of the
// longest token; then for each token f32 its score, i32 its length, and its bytes, with spaces as they are. Ids 0, 1
// and 2 are <unk>, <s> and </s>; the tokens <0x00> to <0xFF> are bytes. A text gets a leading space and the token <s>
// before it, as there. Throws Error (Exit::bad_input) where it is no such file.
BpeModel read_llama2c_vocabulary(const std::string& bytes, const std::string& path);

}  // namespace sink
