#include "engine/data/token_file.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "engine/io/hdf5_file.h"
#include "engine/io/hdf5_reader.h"
#include "engine/io/seal.h"
#include "engine/io/sha256.h"

namespace sink {

namespace {

constexpr std::int64_t kLargestVocabulary = 1 << 24;  // of `prepare`, too

constexpr SealKind kTokenSeal{.word = "tokens",
                              .noun = "token file",
                              .version = 1,
                              .damaged = Exit::bad_input,
                              .origin = "make it with `prepare --text FILE... --out FOLDER`",
                              .remedy = "make it again with `prepare`",
                              .foreign = "make one with `prepare --text FILE... --out FOLDER`"};

std::string tokens_sha256(const TokenFile& file) {
  Sha256 digest;
  for (const auto* tokens : {&file.train, &file.valid})
    digest.add(tokens->data(), tokens->size() * sizeof(std::int32_t));
  return digest.hex();
}

TokenFile read(const std::string& path) {
  Hdf5Reader hdf5(path);
  std::map<std::string, std::string> texts;
  for (auto& [name, text] : hdf5.text_attributes()) texts[name] = text;
  TokenFile file;
  const std::string& vocabulary = texts["vocabulary"];
  auto [end, error] = std::from_chars(vocabulary.data(), vocabulary.data() + vocabulary.size(), file.vocabulary);
  if (error != std::errc() || end != vocabulary.data() + vocabulary.size() || file.vocabulary < 1 ||
      file.vocabulary > kLargestVocabulary) {
    throw Hdf5Failure("the vocabulary size is '" + vocabulary + "', expected a number from 1 to " +
                      std::to_string(kLargestVocabulary));
  }
  file.sources = texts["sources"];
  file.tokenizer_sha256 = texts["tokenizer_sha256"];
  file.train = hdf5.ids("train");
  file.valid = hdf5.ids("valid");
  for (const auto* tokens : {&file.train, &file.valid}) {
    for (std::int32_t id : *tokens) {
      if (id < 0 || id >= file.vocabulary) {
        throw Hdf5Failure("token " + std::to_string(id) + " is outside the vocabulary of " + vocabulary);
      }
    }
  }
  return file;
}

}  // namespace

std::string tokens_checksum(const TokenFile& file) {
  std::string counts =
      "train " + std::to_string(file.train.size()) + " valid " + std::to_string(file.valid.size()) + "\n";
  Sha256 digest;
  digest.add(counts.data(), counts.size());
  for (const auto* tokens : {&file.train, &file.valid})
    digest.add(tokens->data(), tokens->size() * sizeof(std::int32_t));
  return digest.hex();
}

std::string to_token_file_bytes(const TokenFile& file) {
  Hdf5Image image(kSealBytes);
  image.add_text_attribute("vocabulary", std::to_string(file.vocabulary));
  image.add_text_attribute("sources", file.sources);
  image.add_text_attribute("sha256", tokens_sha256(file));
  image.add_text_attribute("tokenizer_sha256", file.tokenizer_sha256);
  image.add_ids("train", file.train, file.vocabulary > 65536);
  image.add_ids("valid", file.valid, file.vocabulary > 65536);
  auto [bytes, size] = image.bytes();
  return make_seal(kTokenSeal, bytes + kSealBytes, size - kSealBytes).append(bytes + kSealBytes, size - kSealBytes);
}

TokenFile read_token_file(const std::string& path) {
  verify_seal(kTokenSeal, path);
  try {
    return read(path);
  } catch (const Hdf5Failure& failure) {
    throw Error(path + " is not a usable token file: " + failure.what() + "; " + kTokenSeal.remedy, Exit::bad_input);
  }
}

}  // namespace sink
