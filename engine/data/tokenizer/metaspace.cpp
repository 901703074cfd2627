#include "engine/data/tokenizer/metaspace.h"

#include <charconv>

#include "engine/data/tokenizer/composed_form.h"

namespace sink {

namespace {

void append_replaced(std::string_view text, std::string_view what, std::string_view by, std::string& out) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t found = std::min(text.find(what, at), text.size());
    out.append(text.substr(at, found - at));
    if (found == text.size()) return;
    out.append(by);
    at = found + what.size();
  }
}

}  // namespace

void append_metaspaced(std::string_view text, std::string& out) { append_replaced(text, " ", kMetaspace, out); }

void append_spaced(std::string_view text, std::string& out) { append_replaced(text, kMetaspace, " ", out); }

std::string_view normal_form(const BpeModel& model, std::string_view text, std::string& composed, std::string& spaced) {
  if (model.nfc) text = composed_form(text, composed);
  if (!model.prepends && !model.replaces_spaces) return text;
  spaced.assign(model.prepends ? kMetaspace : "");
  model.replaces_spaces ? append_metaspaced(text, spaced) : static_cast<void>(spaced.append(text));
  return spaced;
}

std::optional<unsigned char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return std::nullopt;
  unsigned value = 0;
  auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
  if (error != std::errc() || end != token.data() + 5) return std::nullopt;
  return static_cast<unsigned char>(value);
}

}  // namespace sink
