#include "engine/data/tokenizer/tokenizer.h"

#include "engine/check.h"
#include "engine/data/tokenizer/bpe_trainer.h"
#include "engine/data/tokenizer/metaspace.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"

namespace sink {

namespace {

// What tokens of characters stand for. Added tokens that are found in normalised text stand for their normal form.
std::vector<std::string> texts_of(const BpeModel& model) {
  if (model.byte_level) return {};
  std::vector<std::string> texts = model.bytes;
  std::string composed, spaced;
  for (const AddedToken& token : model.added) {
    if (token.normalized)
      texts[static_cast<std::size_t>(token.id)] = normal_form(model, token.content, composed, spaced);
  }
  for (std::string& text : texts) {
    std::optional<unsigned char> byte = model.decodes_bytes ? byte_of_token(text) : std::nullopt;
    std::string token = std::move(text);
    text.clear();
    byte ? text.push_back(static_cast<char>(*byte)) : append_spaced(token, text);
  }
  return texts;
}

std::string without_metaspaces(std::string bytes) {
  for (std::size_t at = bytes.find(kMetaspace); at != std::string::npos; at = bytes.find(kMetaspace, at))
    bytes.erase(at, kMetaspace.size());
  return bytes;
}

bool takes_prefix(PrefixSpace prefix, TextPlace place) {
  if (place == TextPlace::at_begin) return prefix != PrefixSpace::never;
  return prefix == PrefixSpace::always && place != TextPlace::inside;
}

}  // namespace

Tokenizer::Tokenizer(BpeModel model)
    : model_(std::move(model)),
      texts_(texts_of(model_)),
      rules_(model_),
      bounds_(model_),
      added_{AddedTokens(model_, false), AddedTokens(model_, true)} {
  bool steps_between = model_.metaspace || model_.prefix_space != PrefixSpace::never;
  (steps_between ? first_cuts_ : last_cuts_) = model_.cuts;
  if (model_.words) last_cuts_.push_back(model_.byte_level ? Cut::words : Cut::metaspace);
}

Tokenizer Tokenizer::train(const std::vector<std::string_view>& texts, std::int64_t vocabulary) {
  return Tokenizer(train_bpe(texts, vocabulary));
}

Tokenizer Tokenizer::load(const std::string& path) { return Tokenizer(read_tokenizer(path)); }

void Tokenizer::save(const std::string& path) const { write_file_atomically(path, json()); }

std::string Tokenizer::json() const { return to_tokenizer_json(model_); }

std::int32_t Tokenizer::end_of_text() const {
  for (const char* name : {kEndOfText, "<|end_of_text|>", "</s>", "<eos>"}) {
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

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, EncodeCache& cache) const {
  TextPlace place = TextPlace::at_begin;
  return encode(text, place, cache);
}

// Cuts the text at the added tokens that are matched first. encode_stretch composes the text between them and cuts it
// at the others.
std::vector<std::int32_t> Tokenizer::encode(std::string_view text, TextPlace& place, EncodeCache& cache) const {
  std::size_t valid = utf8_valid_prefix(text);
  SINK_CHECK(valid == text.size(), "tokenizer", "the text is not UTF-8 at byte " + std::to_string(valid),
             Exit::bad_input);
  if (place == TextPlace::after_taking_token) text = without_leading_space(text);
  std::vector<std::int32_t> ids;
  std::vector<AddedTokens::Stretch> stretches;
  added_[false].split(text, stretches);
  for (const AddedTokens::Stretch& stretch : stretches) {
    if (stretch.id == BpeModel::kNone) {
      encode_stretch(stretch.text, place, cache, ids);
    } else {
      ids.push_back(stretch.id);
      place = stretch.takes_right ? TextPlace::after_taking_token : TextPlace::after_token;
    }
  }
  return ids;
}

void Tokenizer::encode_stretch(std::string_view text, TextPlace& place, EncodeCache& cache,
                               std::vector<std::int32_t>& ids) const {
  text = normal_form(model_, text, cache.composed, cache.normal);
  std::vector<AddedTokens::Stretch> stretches;
  added_[true].split(text, stretches);
  for (const AddedTokens::Stretch& stretch : stretches) {
    if (stretch.id == BpeModel::kNone) {
      encode_plain(stretch.text, place, cache, ids);
      place = TextPlace::inside;
    } else {
      ids.push_back(stretch.id);
      place = stretch.takes_right ? TextPlace::after_taking_token : TextPlace::after_token;
    }
  }
}

void Tokenizer::encode_plain(std::string_view text, TextPlace place, EncodeCache& cache,
                             std::vector<std::int32_t>& ids) const {
  // Pieces of characters are cut where merges end, see MergeBounds.
  const std::size_t longest = model_.byte_level ? kLongestPiece : std::string_view::npos;
  cache.pieces.clear();
  if (!model_.metaspace && model_.prefix_space == PrefixSpace::never) {
    pre_tokenize(text, last_cuts_, cache.pieces, longest);
    return encode_pieces(cache, ids);
  }
  pre_tokenize(text, first_cuts_, cache.pieces, std::string_view::npos);
  std::vector<std::string_view> stretches;
  stretches.swap(cache.pieces);
  const std::string_view space = model_.byte_level ? " " : kMetaspace;
  for (std::string_view stretch : stretches) {
    const bool opens = stretch.data() == text.data();
    bool spaced = stretch.starts_with(space) || (model_.metaspace && stretch.starts_with(' '));
    bool prefixed = takes_prefix(model_.prefix_space, opens ? place : TextPlace::after_token);
    cache.spaced.assign(prefixed && !spaced ? space : "");
    model_.metaspace ? append_metaspaced(stretch, cache.spaced) : static_cast<void>(cache.spaced.append(stretch));
    cache.pieces.clear();
    pre_tokenize(cache.spaced, last_cuts_, cache.pieces, longest);
    encode_pieces(cache, ids);
  }
}

void Tokenizer::encode_pieces(EncodeCache& cache, std::vector<std::int32_t>& ids) const {
  auto encode = [this](std::string_view fresh, auto& into) { rules_.encode(fresh, into); };
  auto merge = [this](std::string_view fresh, auto& into) { rules_.merge(fresh, into); };
  for (std::string_view piece : cache.pieces) {
    if (model_.byte_level) {
      cache.append(piece, ids, encode);
      continue;
    }
    std::int32_t whole = rules_.whole(piece);
    if (whole != BpeModel::kNone) {
      ids.push_back(whole);
      continue;
    }
    for (std::size_t at = 0, end = 0; at < piece.size(); at = end) {
      end = bounds_.end_of(piece, at);
      cache.append(piece.substr(at, end - at), ids, merge);
    }
  }
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
  return (texts_.empty() ? model_.bytes : texts_)[static_cast<std::size_t>(id)];
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  bool is_first = true;
  for (std::int32_t id : ids) {
    if (id >= vocabulary()) continue;
    const std::string& bytes = bytes_of(id);
    text +=
        is_first && model_.strips_first_token ? without_metaspaces(model_.bytes[static_cast<std::size_t>(id)]) : bytes;
    is_first = false;
  }
  std::size_t stripped = 0;
  while (stripped < model_.stripped_spaces && text[stripped] == ' ') ++stripped;
  return text.substr(stripped);
}

std::string Tokenizer::token_text(std::int32_t id) const { return printable(bytes_of(id)); }

}  // namespace sink
