// Checkpoint: everything needed to resume a run bit for bit, or to evaluate its model, in one HDF5 file that h5ls and
// h5py can read.
//
// The file is a checksum header (checksum_header.h), then HDF5: `format` and the attributes below as UTF-8 texts on the
// root group (texts over 60 KB as datasets texts/<name>, since HDF5 attributes end at 64 KB), and each tensor as a
// contiguous little-endian dataset under its own name. It stores no times: equal contents are equal bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/checksum_header.h"
#include "engine/tensor.h"

namespace sink {

inline constexpr FileFormat kCheckpointFormat{.word = "checkpoint",
                                              .noun = "checkpoint",
                                              .version = 1,
                                              .damaged = Exit::corrupt_checkpoint,
                                              .origin = "a run keeps its own as runs/NAME/checkpoint.h5",
                                              .remedy = "go back to another copy or start again",
                                              .foreign = "engine/io/CHECKPOINT.md shows how to add one"};

struct Checkpoint {
  // ablation, policies, layers, heads, width, feed_forward, context, vocabulary, kv_heads, window, prefix, step,
  // tokens, seed, precision, commit, config_toml, tokenizer_json, ...: texts. Integers are in decimal.
  std::map<std::string, std::string> attributes;
  // f32 or f64, by HDF5 path: parameters/<name>, and of a training run optimizer/first_moment/<name> and the like.
  // Sorted by path in a loaded checkpoint.
  std::vector<std::pair<std::string, Tensor>> tensors;
  // The names of a tensor's axes by its path, as in "V C"; may be empty.
  std::map<std::string, std::string> axes;
  // Where it was loaded from, for messages; not stored.
  std::string path;

  // These throw Error (Exit::corrupt_checkpoint) with the missing name.
  const std::string& attribute(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;  // NaN and infinities are accepted
  const Tensor& tensor(const std::string& path) const;
};

// Writes the file atomically: checks the free space, writes a temporary, flushes it, verifies its checksum and renames
// it to `path`. On any failure an older file is unchanged. Throws Error: Exit::io for the disk, Exit::diverged where a
// tensor holds NaN or infinity.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Throws Error with one line: Exit::bad_input where the file is missing, Exit::corrupt_checkpoint where it is empty,
// truncated, damaged, foreign, of another version or holds NaN.
Checkpoint load_checkpoint(const std::string& path);

// Throws Error (Exit::corrupt_checkpoint) for a checkpoint whose policies are not those of this program; the message
// names the programs to run instead. `program` is the running one, such as "train_baseline".
void require_policy(const Checkpoint& checkpoint, const std::string& ablation, const std::string& policies,
                    const std::string& program);

}  // namespace sink
