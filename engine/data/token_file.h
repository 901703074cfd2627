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

// Version 1 has neither domains nor the checksum of its tokens. Only chats have version 3, with marks of what is
// predicted: text is written as version 2, in the bytes that it always had.
inline constexpr SealKind kTokenSeal{.word = "tokens",
                                     .noun = "token file",
                                     .version = 3,
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

// Which tokens are to be predicted, one bit each: token t's is bit t % 16 of word t / 16 of a list of u16. Of no words
// all are.
class TokenMarks {
 public:
  TokenMarks() = default;
  // For `size` tokens. Throws Hdf5Failure where these are not as many words, or a bit behind the last token is set.
  TokenMarks(MappedBytes bytes, std::int64_t size);

  bool all() const { return bytes_.size() == 0; }
  // Whether token t is predicted; t must be one of the file.
  bool has(std::int64_t t) const { return all() || (bytes_.data()[t / 8] >> (t % 8) & 1) != 0; }
  const MappedBytes& bytes() const { return bytes_; }

 private:
  MappedBytes bytes_;
};

// Text of one origin: a run of `train` and one of `valid`. The domains of a file follow each other in both.
struct TextDomain {
  std::string name;
  double weight = 0;  // its part of a mixture beside the others' weights; 0 in all: their sizes
  std::int64_t documents = 0;
  std::int64_t train_tokens = 0, valid_tokens = 0;
};

// On disk: a seal (see engine/io/seal.h), then HDF5: the one-dimensional datasets `train` and `valid` (u16, or u32
// where the vocabulary is larger than 65536), in version 3 `train_predicted` and `valid_predicted` (TokenMarks), and
// the attributes `vocabulary`, `sources`, `data_sha256`, `tokenizer_sha256`, `end_of_text` (the id behind every
// document) and `domains`, a line each: name, weight, documents, tokens of train and of valid, with tabs between.
struct TokenFile {
  TokenIds train, valid;
  TokenMarks train_predicted, valid_predicted;
  std::int64_t vocabulary = 0;
  std::int64_t end_of_text = -1;    // -1: not known, in version 1
  std::string sources;              // what the text was, one line per file
  std::string tokenizer_sha256;     // of the tokenizer.json beside it
  std::string checksum;             // tokens_checksum of its tokens
  std::vector<TextDomain> domains;  // at least one
};

// What tokens are, wherever the file lies: the SHA-256 of the line "train <count> valid <count>" with its end, and of
// the tokens of both as little-endian i32; where there are marks, of both sides' words behind them.
std::string tokens_checksum(const TokenIds& train, const TokenIds& valid, const TokenMarks& train_predicted = {},
                            const TokenMarks& valid_predicted = {});

// As the attribute `domains`, and back; throws Hdf5Failure.
std::string domains_to_text(const std::vector<TextDomain>& domains);
std::vector<TextDomain> domains_from_text(const std::string& text);

// Reads the file once, to check its seal. Throws Error (Exit::bad_input) where it is missing, foreign, truncated or
// damaged.
TokenFile read_token_file(const std::string& path);

}  // namespace sink
