// Checkpoint: everything a run needs to go on bit for bit, or a model to be measured, in one HDF5 file that h5ls and
// h5py can read alone.
//
// The file is a 512-byte text seal (length and SHA-256 of all that follows, see seal.h), then HDF5: `format`
// and the attributes below as UTF-8 texts on the root group (those over 60 KB as datasets texts/<name>, HDF5's
// attributes end at 64 KB), and each tensor as a contiguous little-endian dataset under its own name. It holds no
// clock: equal contents are equal bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/io/seal.h"
#include "engine/tensor.h"

namespace sink {

inline constexpr SealKind kCheckpointSeal{.word = "checkpoint",
                                          .noun = "checkpoint",
                                          .version = 1,
                                          .damaged = Exit::corrupt_checkpoint,
                                          .origin = "a run keeps its own as runs/NAME/checkpoint.h5",
                                          .remedy = "go back to another copy or start again",
                                          .foreign = "engine/io/CHECKPOINT.md shows how one made by hand is sealed"};

struct Checkpoint {
  // ablation, policies, layers, heads, width, feed_forward, context, vocabulary, kv_heads, window, prefix, step,
  // tokens, seed, precision, commit, config_toml, tokenizer_json, ...: texts; whole numbers in decimal.
  std::map<std::string, std::string> attributes;
  // f32 or f64, by HDF5 path: parameters/<name>, and of a training optimizer/first_moment/<name> and its like.
  // In a loaded checkpoint they are sorted by path.
  std::vector<std::pair<std::string, Tensor>> tensors;
  // What the axes of a tensor mean, by its path, as in "V C"; may be left empty.
  std::map<std::string, std::string> axes;
  // Where it was loaded from, for messages; not stored.
  std::string path;

  // These throw Error (Exit::corrupt_checkpoint), naming what is missing.
  const std::string& attribute(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;  // NaN and infinities are numbers, too
  const Tensor& tensor(const std::string& path) const;
};

// Writes the file whole or not at all: space checked, written beside `path`, flushed, read back and compared by
// checksum, renamed over `path`. On any failure an older file stays as it was. Throws Error: Exit::io for the disk,
// Exit::diverged when a tensor holds NaN or infinity (a good checkpoint is not replaced by a dead one).
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Reads a file that save_checkpoint wrote. Throws Error with one line: Exit::bad_input when it is not there,
// Exit::corrupt_checkpoint when it is empty, truncated, damaged, foreign, of another version or holds NaN.
Checkpoint load_checkpoint(const std::string& path);

// Refuses (Error, Exit::corrupt_checkpoint) a checkpoint whose policies are not this program's, naming the programs
// that fit. `program` is the running one, such as "train_baseline".
void require_policy(const Checkpoint& checkpoint, const std::string& ablation, const std::string& policies,
                    const std::string& program);

}  // namespace sink
