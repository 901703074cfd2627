// Writes tokens.h5 (engine/data/token_file.h) document by document; the tokens do not stay in memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/data/token_file.h"
#include "engine/io/file.h"
#include "engine/io/sha256.h"

namespace sink {

class TokenWriter {
 public:
  // Writes ids below `vocabulary` to `path`, with marks of the predicted tokens or without (all are predicted). Until
  // close() they are in unnamed temporary files in the same folder. All functions throw Error (Exit::io).
  TokenWriter(const std::string& path, std::int64_t vocabulary, bool with_marks = false);

  // Documents that are added after this call belong to this domain.
  void begin_domain(const std::string& name, double weight);
  // A document including its final end-of-text id. `predicted`, with marks: 1 for each predicted id, else 0.
  void add_document(std::span<const std::int32_t> ids, bool validation, std::span<const std::int32_t> predicted = {});
  // If training or validation has no tokens, moves the last `fraction` of all tokens, at least one, to validation.
  // Returns how many were moved.
  std::int64_t hold_out(double fraction);

  struct About {
    std::int64_t end_of_text = 0;
    std::int64_t begin_token = -1;  // -1: none
    std::string sources, tokenizer_sha256;
  };
  // Writes the temporary, flushes it to the disk and compares what the disk has with what was written; commit() renames
  // it to `path`.
  void close(const About& about);
  void commit() { output_->commit(); }

  const std::vector<TextDomain>& domains() const { return domains_; }
  std::int64_t train_tokens() const { return spools_[0].count; }
  std::int64_t valid_tokens() const { return spools_[1].count; }
  std::int64_t predicted_tokens() const { return predicted_; }  // of both; all tokens without marks

 private:
  struct Spool {
    FileDescriptor file;
    std::uint64_t width = 2;  // bytes per id
    std::int64_t count = 0;
    std::vector<unsigned char> waiting;
    Sha256 written;  // of the bytes in the file
  };
  void append(Spool& spool, std::span<const std::int32_t> ids);
  void flush(Spool& spool);
  void require_as_written(Spool& spool);  // once
  MappedBytes bytes_of(const Spool& spool) const;
  TokenIds ids_of(const Spool& spool) const;
  void move_last(std::int64_t count, Spool& from, Spool& to);
  void pack_bits(Spool& marks, Spool& words);
  void copy_into(const Spool& spool, int descriptor, std::uint64_t offset) const;

  std::string path_;
  std::int64_t vocabulary_;
  bool with_marks_;
  std::array<Spool, 2> spools_;  // train, valid
  std::array<Spool, 2> marks_;   // train, valid; 0 or 1 per token
  std::array<Spool, 2> words_;   // the same packed into bits (TokenMarks)
  std::int64_t predicted_ = 0;
  std::vector<TextDomain> domains_;
  std::unique_ptr<OutputFile> output_;
};

}  // namespace sink
