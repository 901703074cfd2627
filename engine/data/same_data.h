// Whether a run's data is what a checkpoint was made on: told by what the tokens and the tokenizer are (checksums), not
// by the path they lie at.
#pragma once

#include <string>

#include "engine/data/data_source.h"
#include "engine/io/checkpoint.h"

namespace sink {

// Writes the attributes `data_sha256` and `tokenizer_json`, where the data has them.
void store_data(const DataSource& data, Checkpoint& checkpoint);

// Throws Error (Exit::bad_input) when the ids of `data`, which lies in `folder`, mean other tokens than those of the
// checkpoint. Says nothing where one of them has no tokenizer.
void require_same_tokenizer(const Checkpoint& checkpoint, const DataSource& data, const std::string& folder);

// Throws Error (Exit::bad_input) when the tokenizer or the text is another, naming both checksums and `advice`. A
// checkpoint that does not say what its text was is accepted with a note on stderr.
void require_same_data(const Checkpoint& checkpoint, const DataSource& data, const std::string& folder,
                       const std::string& advice);

// The same, but of another text it only makes a note on stderr.
void note_other_data(const Checkpoint& checkpoint, const DataSource& data, const std::string& folder);

}  // namespace sink
