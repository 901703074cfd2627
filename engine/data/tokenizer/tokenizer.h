// Tokenizer: text to token ids and back, by byte-level BPE; no text is outside its vocabulary.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/data/tokenizer/bpe_model.h"

namespace sink {

// Ids of pieces met before. One for each thread; it makes encoding natural text about ten times as fast.
struct EncodeCache {
  std::unordered_map<std::string, std::vector<std::int32_t>> ids_of;
  std::vector<std::string_view> pieces;  // scratch
};

class Tokenizer {
 public:
  explicit Tokenizer(BpeModel model);

  // See train_bpe.
  static Tokenizer train(const std::vector<std::string_view>& texts, std::int64_t vocabulary);
  // A tokenizer.json, of ours or of HuggingFace. Throws Error (Exit::bad_input).
  static Tokenizer load(const std::string& path);
  // Throws Error (Exit::io).
  void save(const std::string& path) const;
  std::string json() const;

  // Number of rows that an embedding needs: the largest id + 1.
  std::int64_t vocabulary() const { return static_cast<std::int64_t>(model_.bytes.size()); }
  // The id of <|endoftext|>. Throws Error (Exit::bad_input) if there is none.
  std::int32_t end_of_text() const;
  // The tokenizer was made for text in Unicode's composed form (NFC). encode() takes text as it comes, which gives the
  // same ids for text that is composed already, as nearly all text is.
  bool expects_nfc() const { return model_.nfc; }

  // Throws Error (Exit::bad_input) where the text is not UTF-8. Added tokens in the text become their ids.
  std::vector<std::int32_t> encode(std::string_view text) const;
  std::vector<std::int32_t> encode(std::string_view text, EncodeCache& cache) const;

  // decode(encode(text)) == text. Throws Error for ids outside the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;

  // The token as printable UTF-8 for labels: control characters and broken characters are escaped (\n, \x1b), spaces
  // stay.
  std::string token_text(std::int32_t id) const;

 private:
  struct Rule {
    std::int32_t rank;
    std::int32_t result;
  };
  struct Found {
    std::size_t at;
    const AddedToken* token;  // nullptr: none from here on
  };

  const std::string& bytes_of(std::int32_t id) const;
  Found find_added(std::string_view text, std::size_t from, bool normalized) const;
  void encode_around(std::string_view text, bool normalized, EncodeCache& cache, std::vector<std::int32_t>& ids) const;
  void encode_plain(std::string_view text, EncodeCache& cache, std::vector<std::int32_t>& ids) const;
  std::vector<std::int32_t> encode_piece(std::string_view piece) const;

  BpeModel model_;
  std::unordered_map<std::uint64_t, Rule> rules_;  // by left and right id
  std::array<std::int32_t, 256> id_of_byte_;
  // Places in model_.added by [normalized][first byte], longest first.
  std::array<std::array<std::vector<std::size_t>, 256>, 2> added_by_byte_;
};

}  // namespace sink
