#include "engine/data/tokenizer/tokenizer.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/data/tokenizer/bpe_trainer.h"
#include "engine/data/tokenizer/composed_form.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"

namespace sink {

Tokenizer::Tokenizer(BpeModel model)
    : model_(std::move(model)),
      rules_(model_),
      added_{AddedTokens(model_, false), AddedTokens(model_, true)},
      first_cuts_(model_.cuts) {
  std::vector<Cut>& after = model_.prefix_space ? last_cuts_ : first_cuts_;
  if (model_.words) after.push_back(Cut::words);
}

Tokenizer Tokenizer::train(const std::vector<std::string_view>& texts, std::int64_t vocabulary) {
  return Tokenizer(train_bpe(texts, vocabulary));
}

Tokenizer Tokenizer::load(const std::string& path) { return Tokenizer(read_tokenizer(path)); }

void Tokenizer::save(const std::string& path) const { write_file_atomically(path, json()); }

std::string Tokenizer::json() const { return to_tokenizer_json(model_); }

std::int32_t Tokenizer::end_of_text() const {
  for (const char* name : {kEndOfText, "<|end_of_text|>", "</s>"}) {
    for (const AddedToken& token : model_.added) {
      if (token.content == name) return token.id;
    }
  }
  fail("tokenizer", std::string("the tokenizer has no token ") + kEndOfText + " to end documents with",
       Exit::bad_input);
}

int Tokenizer::bytes_without_token() const {
  int without = 0;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    bool in_utf8 = byte != 0xC0 && byte != 0xC1 && byte < 0xF5;
    without += in_utf8 && model_.id_of_byte[byte] == BpeModel::kNone;
  }
  return without;
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  EncodeCache cache;
  return encode(text, cache);
}

// Cuts the text at its added tokens: at those that are looked for first, and what lies between, composed, at the
// others.
std::vector<std::int32_t> Tokenizer::encode(std::string_view text, EncodeCache& cache) const {
  std::size_t valid = utf8_valid_prefix(text);
  SINK_CHECK(valid == text.size(), "tokenizer", "the text is not UTF-8 at byte " + std::to_string(valid),
             Exit::bad_input);
  std::vector<std::int32_t> ids;
  std::vector<AddedTokens::Stretch> stretches;
  added_[false].split(text, stretches);
  for (const AddedTokens::Stretch& stretch : stretches) {
    stretch.id == BpeModel::kNone ? encode_stretch(stretch.text, cache, ids) : ids.push_back(stretch.id);
  }
  return ids;
}

void Tokenizer::encode_stretch(std::string_view text, EncodeCache& cache, std::vector<std::int32_t>& ids) const {
  if (model_.nfc) text = composed_form(text, cache.composed);
  std::vector<AddedTokens::Stretch> stretches;
  added_[true].split(text, stretches);
  for (const AddedTokens::Stretch& stretch : stretches) {
    stretch.id == BpeModel::kNone ? encode_plain(stretch.text, cache, ids) : ids.push_back(stretch.id);
  }
}

void Tokenizer::encode_plain(std::string_view text, EncodeCache& cache, std::vector<std::int32_t>& ids) const {
  cache.pieces.clear();
  pre_tokenize(text, first_cuts_, cache.pieces);
  if (!model_.prefix_space) return encode_pieces(cache, ids);
  std::vector<std::string_view> stretches;
  stretches.swap(cache.pieces);
  for (std::string_view stretch : stretches) {
    cache.spaced.assign(stretch.starts_with(' ') ? "" : " ").append(stretch);
    cache.pieces.clear();
    pre_tokenize(cache.spaced, last_cuts_, cache.pieces);
    encode_pieces(cache, ids);
  }
}

void Tokenizer::encode_pieces(EncodeCache& cache, std::vector<std::int32_t>& ids) const {
  for (std::string_view piece : cache.pieces)
    cache.append(piece, ids, [this](std::string_view fresh, auto& into) { rules_.encode(fresh, into); });
}

std::vector<std::int32_t> Tokenizer::encode_with_special_tokens(std::string_view text, EncodeCache& cache) const {
  std::vector<std::int32_t> ids = encode(text, cache);
  ids.insert(ids.begin(), model_.before.begin(), model_.before.end());
  ids.insert(ids.end(), model_.after.begin(), model_.after.end());
  return ids;
}

const std::string& Tokenizer::bytes_of(std::int32_t id) const {
  SINK_CHECK(id >= 0 && id < vocabulary(), "tokenizer",
             "token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(vocabulary()));
  return model_.bytes[static_cast<std::size_t>(id)];
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (std::int32_t id : ids) text += bytes_of(id);
  return text;
}

std::string Tokenizer::token_text(std::int32_t id) const { return printable(bytes_of(id)); }

}  // namespace sink
