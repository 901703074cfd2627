#include "engine/data/same_data.h"

#include <cstdio>

#include "engine/io/printable.h"
#include "engine/io/sha256.h"

namespace sink {
namespace {

constexpr const char* kChecksum = "data_sha256";
constexpr const char* kParts = "data_parts";
constexpr const char* kTokenizer = "tokenizer_json";

std::string abbreviated(const std::string& checksum) { return checksum.substr(0, 12); }

std::string attribute_or_empty(const Checkpoint& checkpoint, const char* name) {
  auto found = checkpoint.attributes.find(name);
  return found == checkpoint.attributes.end() ? "" : found->second;
}

// "data/b holds other text than runs/a/checkpoint.h5 was made on (SHA-256 of its tokens 0123..., of the checkpoint's
// 4567...)"; empty where the text is the same or unknown.
std::string other_text(const Checkpoint& checkpoint, const DataSource& data, const std::string& folder) {
  std::string theirs = attribute_or_empty(checkpoint, kChecksum), ours = data.checksum();
  if (theirs.empty() || ours.empty() || theirs == ours) return "";
  return folder + " holds other text than " + checkpoint.path + " was made on (SHA-256 of its tokens " +
         abbreviated(ours) + ", of the checkpoint's " + abbreviated(theirs) + ")";
}

}  // namespace

void store_data(const DataSource& data, Checkpoint& checkpoint) {
  if (std::string checksum = data.checksum(); !checksum.empty()) checkpoint.attributes[kChecksum] = checksum;
  if (std::string parts = data.parts(); !parts.empty()) checkpoint.attributes[kParts] = parts;
  if (std::string tokenizer = data.tokenizer_json(); !tokenizer.empty()) checkpoint.attributes[kTokenizer] = tokenizer;
  if (data.begin_token() < 0) return;
  checkpoint.attributes["begin_token"] = std::to_string(data.begin_token());
  checkpoint.attributes["begin_rule"] = "the --begin-token with which `prepare` made its data";
}

void require_same_tokenizer(const Checkpoint& checkpoint, const DataSource& data, const std::string& folder) {
  std::string theirs = attribute_or_empty(checkpoint, kTokenizer), ours = data.tokenizer_json();
  if (theirs.empty() || ours.empty() || theirs == ours) return;
  throw Error(
      folder + " has another tokenizer than " + checkpoint.path + " was made with (SHA-256 " +
          abbreviated(sha256_hex(ours)) + ", the checkpoint's " + abbreviated(sha256_hex(theirs)) +
          "), its ids mean other tokens: give a folder with the same one as --data (`prepare --tokenizer` makes it)",
      Exit::bad_input);
}

void require_same_data(const Checkpoint& checkpoint, const DataSource& data, const std::string& folder,
                       const std::string& advice) {
  require_same_tokenizer(checkpoint, data, folder);
  if (std::string other = other_text(checkpoint, data, folder); !other.empty())
    throw Error(other + ": " + advice, Exit::bad_input);
  if (std::string theirs = attribute_or_empty(checkpoint, kParts), ours = data.parts();
      !theirs.empty() && !ours.empty() && theirs != ours)
    throw Error(folder + " holds the text that " + checkpoint.path +
                    " was made on with other domains: their sizes, or with --data-order mixture their weights, give "
                    "other batches; " +
                    advice,
                Exit::bad_input);
  if (!data.checksum().empty() && attribute_or_empty(checkpoint, kChecksum).empty())
    std::fprintf(stderr, "note: %s has no checksum of its text; assuming that of %s\n",
                 printable(checkpoint.path).c_str(), printable(folder).c_str());
}

void note_other_data(const Checkpoint& checkpoint, const DataSource& data, const std::string& folder) {
  require_same_tokenizer(checkpoint, data, folder);
  if (std::string other = other_text(checkpoint, data, folder); !other.empty())
    std::fprintf(stderr, "note: %s\n", printable(other).c_str());
}

}  // namespace sink
