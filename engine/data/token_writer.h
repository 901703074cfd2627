// Writes tokens.h5 (engine/data/token_file.h) as the tokens come, so that none of them has to stay in memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/data/token_file.h"
#include "engine/io/file.h"

namespace sink {

class TokenWriter {
 public:
  // Of `path`, for ids below `vocabulary`; with marks of what is predicted, or all is. They wait in files without names
  // beside it until all have come. Throws Error (Exit::io), as does what follows.
  TokenWriter(const std::string& path, std::int64_t vocabulary, bool with_marks = false);
  ~TokenWriter();
  TokenWriter(const TokenWriter&) = delete;
  TokenWriter& operator=(const TokenWriter&) = delete;

  // What is added from now on belongs to this domain.
  void begin_domain(const std::string& name, double weight);
  // A document with the id that ends it; with marks, 1 for each id that is predicted and 0 for each other one.
  void add_document(std::span<const std::int32_t> ids, bool validation, std::span<const std::int32_t> predicted = {});
  // Where either side has no tokens yet, the last part of all tokens becomes validation, at least one; returns how many
  // were moved, 0 where both had some.
  std::int64_t hold_out(double fraction);

  struct About {
    std::int64_t end_of_text = 0;
    std::string sources, tokenizer_sha256;
  };
  // Writes the file beside its place and flushes it to the disk; commit() puts it there.
  void close(const About& about);
  void commit() { output_->commit(); }

  const std::vector<TextDomain>& domains() const { return domains_; }
  std::int64_t train_tokens() const { return spools_[0].count; }
  std::int64_t valid_tokens() const { return spools_[1].count; }
  std::int64_t predicted_tokens() const { return predicted_; }  // of both; all where there are no marks

 private:
  struct Spool {
    int descriptor = -1;
    std::uint64_t width = 2;  // bytes of one
    std::int64_t count = 0;
    std::vector<unsigned char> waiting;
  };
  void append(Spool& spool, std::span<const std::int32_t> ids);
  void flush(Spool& spool);
  MappedBytes bytes_of(const Spool& spool) const;
  TokenIds ids_of(const Spool& spool) const;
  void move_last(std::int64_t count, Spool& from, Spool& to);
  void pack(Spool& marks, Spool& words);
  void copy_into(const Spool& spool, int descriptor, std::uint64_t offset) const;

  std::string path_;
  std::int64_t vocabulary_;
  bool with_marks_;
  std::array<Spool, 2> spools_;  // train, valid
  std::array<Spool, 2> marks_;   // of the same, 0 or 1 a token, until they are packed as
  std::array<Spool, 2> words_;   // TokenMarks has them
  std::int64_t predicted_ = 0;
  std::vector<TextDomain> domains_;
  std::unique_ptr<OutputFile> output_;
};

}  // namespace sink
