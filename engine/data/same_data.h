// Whether the data of a run is that of a checkpoint, by the checksums of tokens and tokenizer, not by path.
#pragma once

#include <string>

#include "engine/data/data_source.h"
#include "engine/io/checkpoint.h"

namespace sink {

// Sets the attributes `data_sha256`, `data_parts`, `tokenizer_json` and `begin_token` (with `begin_rule`, where it is
// from) where the data has them.
void store_data(const DataSource& data, Checkpoint& checkpoint);

// Throws Error (Exit::bad_input) where `data`, in `folder`, has another tokenizer than the checkpoint. Accepts either
// without a tokenizer.
void require_same_tokenizer(const Checkpoint& checkpoint, const DataSource& data, const std::string& folder);

// Throws Error (Exit::bad_input) where the tokenizer, the text or its domains differ, with `advice`. A checkpoint
// without a checksum of its text is accepted with a note on stderr.
void require_same_data(const Checkpoint& checkpoint, const DataSource& data, const std::string& folder,
                       const std::string& advice);

// The same, but a different text only causes a note on stderr.
void note_other_data(const Checkpoint& checkpoint, const DataSource& data, const std::string& folder);

}  // namespace sink
