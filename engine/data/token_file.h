// tokens.h5: tokenised text, split into training and validation, with what is needed to tell whether it is whole. Its
// tokens are mapped to memory and never copied as a whole, so that a file may be larger than memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/io/mapped_bytes.h"
#include "engine/io/seal.h"

namespace sink {

inline constexpr std::int64_t kLargestVocabulary = 1 << 24;  // of `prepare`, too
inline constexpr std::size_t kMostDomains = 256;
inline constexpr std::size_t kLongestDomainName = 64;  // bytes

// Version 1 has neither domains nor the checksum of its tokens.
inline constexpr SealKind kTokenSeal{.word = "tokens",
                                     .noun = "token file",
                                     .version = 2,
                                     .damaged = Exit::bad_input,
                                     .origin = "make it with `prepare --text FILE... --out FOLDER`",
                                     .remedy = "make it again with `prepare`",
                                     .foreign = "make one with `prepare --text FILE... --out FOLDER`",
                                     .oldest = 1};

// A list of ids as it stands in a file: little-endian u16 or u32.
class TokenIds {
 public:
  TokenIds() = default;
  TokenIds(MappedBytes bytes, std::uint64_t width);

  std::int64_t size() const { return size_; }
  // Ids [begin, begin + count) as i32. What the file says is not checked here but where a batch is made of it.
  void copy(std::int64_t begin, std::int64_t count, std::int32_t* to) const;

 private:
  MappedBytes bytes_;
  bool wide_ = false;
  std::int64_t size_ = 0;
};

// Text of one origin: a run of `train` and one of `valid`. The domains of a file follow each other in both.
struct TextDomain {
  std::string name;
  double weight = 0;  // its part of a mixture beside the others' weights; 0 in all: their sizes
  std::int64_t documents = 0;
  std::int64_t train_tokens = 0, valid_tokens = 0;
};

// On disk: a seal (see engine/io/seal.h), then HDF5: the one-dimensional datasets `train` and `valid` (u16, or u32
// where the vocabulary is larger than 65536) and the attributes `vocabulary`, `sources`, `data_sha256`,
// `tokenizer_sha256`, `end_of_text` (the id behind every document) and `domains`, a line each: name, weight, documents,
// tokens of train and of valid, with tabs between.
struct TokenFile {
  TokenIds train, valid;
  std::int64_t vocabulary = 0;
  std::int64_t end_of_text = -1;    // -1: not known, in version 1
  std::string sources;              // what the text was, one line per file
  std::string tokenizer_sha256;     // of the tokenizer.json beside it
  std::string checksum;             // tokens_checksum of its tokens
  std::vector<TextDomain> domains;  // at least one
};

// What tokens are, wherever the file lies: the SHA-256 of the line "train <count> valid <count>" with its end, and of
// the tokens of both as little-endian i32.
std::string tokens_checksum(const TokenIds& train, const TokenIds& valid);

// As the attribute `domains`, and back; throws Hdf5Failure.
std::string domains_to_text(const std::vector<TextDomain>& domains);
std::vector<TextDomain> domains_from_text(const std::string& text);

// Reads the file once, to check its seal. Throws Error (Exit::bad_input) where it is missing, foreign, truncated or
// damaged.
TokenFile read_token_file(const std::string& path);

}  // namespace sink
