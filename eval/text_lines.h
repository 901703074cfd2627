// Texts of JSONL as sequences of one length, one of each text: {"text", "domain"}, as the study's probes are.
#pragma once

#include <string>
#include <vector>

#include "eval/given_text.h"

namespace sink {

struct TextLines {
  Tensor tokens_NT;                  // I32
  std::vector<std::string> domains;  // [N]; empty where a line says none
};

// The first cut.context tokens of each text, the cut's fixed token at its place among them; texts that have fewer are
// left out, with a note on stderr. Throws Error (Exit::bad_input), with the line, for one without `text`, and where no
// text is long enough.
TextLines read_text_lines(const std::string& path, const Tokenizer& tokenizer, const TextCut& cut);

}  // namespace sink
