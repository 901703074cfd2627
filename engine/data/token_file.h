// tokens.h5: tokenised text, split into training and validation, with a checksum. Its tokens are memory-mapped, so that
// a file may be larger than memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/io/checksum_header.h"
#include "engine/io/file.h"

namespace sink {

inline constexpr std::int64_t kLargestVocabulary = 1 << 24;  // of `prepare`, too
inline constexpr std::size_t kMostDomains = 256;
inline constexpr std::size_t kLongestDomainName = 64;  // bytes

// Version 1 has neither domains nor a checksum of its tokens. Chats are written as version 3, with marks of the
// predicted tokens; text as version 2.
inline constexpr FileFormat kTokenFormat{.word = "tokens",
                                         .noun = "token file",
                                         .version = 3,
                                         .damaged = Exit::bad_input,
                                         .origin = "make it with `prepare --text FILE... --out FOLDER`",
                                         .remedy = "make it again with `prepare`",
                                         .foreign = "make one with `prepare --text FILE... --out FOLDER`",
                                         .oldest = 1};

// A memory-mapped list of ids: little-endian u16 or u32.
class TokenIds {
 public:
  TokenIds() = default;
  TokenIds(MappedBytes bytes, std::uint64_t width);

  std::int64_t size() const { return size_; }
  // Ids [begin, begin + count) as i32. Their range is checked by Batch.
  void copy(std::int64_t begin, std::int64_t count, std::int32_t* to) const;

 private:
  MappedBytes bytes_;
  bool wide_ = false;
  std::int64_t size_ = 0;
};

// Which tokens are predicted, one bit each: token t has bit t % 16 of word t / 16 of a list of u16. Without words all
// tokens are predicted.
class TokenMarks {
 public:
  TokenMarks() = default;
  // For `size` tokens. Throws Hdf5Failure for another number of words, or a bit set after the last token.
  TokenMarks(MappedBytes bytes, std::int64_t size);

  bool all() const { return bytes_.size() == 0; }
  // Whether token t is predicted.
  bool has(std::int64_t t) const { return all() || (bytes_.data()[t / 8] >> (t % 8) & 1) != 0; }
  const MappedBytes& bytes() const { return bytes_; }

 private:
  MappedBytes bytes_;
};

// Text of one origin: a contiguous range of `train` and one of `valid`, in the order of the domains.
struct TextDomain {
  std::string name;
  double weight = 0;  // relative to the others; all 0: by size
  std::int64_t documents = 0;
  std::int64_t train_tokens = 0, valid_tokens = 0;
};

// On disk: a checksum header (engine/io/checksum_header.h), then HDF5. Datasets, one-dimensional: `train` and `valid`
// (u16, or u32 if the vocabulary is larger than 65536); in version 3 also `train_predicted` and `valid_predicted`
// (TokenMarks). Attributes: `vocabulary`, `sources`, `data_sha256`, `tokenizer_sha256`, `end_of_text` (the id after
// every document), `begin_token` (the id before every document, if there is one) and `domains`. Each line of `domains`
// has, separated by tabs: name, weight, documents, tokens of train, tokens of valid.
struct TokenFile {
  TokenIds train, valid;
  TokenMarks train_predicted, valid_predicted;
  std::int64_t vocabulary = 0;
  std::int64_t end_of_text = -1;    // -1: unknown (version 1)
  std::int64_t begin_token = -1;    // -1: none
  std::string sources;              // names of the text files, one per line
  std::string tokenizer_sha256;     // of the tokenizer.json in the same folder
  std::string checksum;             // tokens_checksum of its tokens
  std::vector<TextDomain> domains;  // at least one
};

// The SHA-256 of the line "train <count> valid <count>\n", the tokens of both as little-endian i32 and, with marks, the
// words of both.
std::string tokens_checksum(const TokenIds& train, const TokenIds& valid, const TokenMarks& train_predicted = {},
                            const TokenMarks& valid_predicted = {});

// Encodes and decodes the attribute `domains`; throws Hdf5Failure.
std::string domains_to_text(const std::vector<TextDomain>& domains);
std::vector<TextDomain> domains_from_text(const std::string& text);

// Reads the whole file once to verify its checksum. Throws Error (Exit::bad_input) where it is missing, foreign,
// truncated or damaged.
TokenFile read_token_file(const std::string& path);

}  // namespace sink
