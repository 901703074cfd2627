#include "engine/data/token_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>

#include "engine/io/hdf5_reader.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "engine/io/settings_toml.h"
#include "engine/io/sha256.h"

namespace sink {

namespace {

// Parses all of `text` as a number from `low` to `high`.
template <class Number>
Number number_in(std::string_view text, const std::string& what, Number low, Number high) {
  const std::optional<Number> number = parse_number<Number>(text);
  if (number && *number >= low && *number <= high) return *number;
  throw Hdf5Failure(what + " is " + in_quotes(text));
}

void add_as_i32(Sha256& digest, const TokenIds& ids) {
  std::vector<std::int32_t> piece(1 << 16);
  auto most = static_cast<std::int64_t>(piece.size());
  for (std::int64_t begin = 0; begin < ids.size(); begin += most) {
    std::int64_t count = std::min(most, ids.size() - begin);
    ids.copy(begin, count, piece.data());
    digest.add(piece.data(), static_cast<std::size_t>(count) * sizeof(std::int32_t));
  }
}

void check_domains(const TokenFile& file) {
  std::int64_t train = 0, valid = 0;
  for (const TextDomain& domain : file.domains) {
    if (domain.train_tokens > file.train.size() - train || domain.valid_tokens > file.valid.size() - valid)
      throw Hdf5Failure("its domains have more tokens than the file");
    train += domain.train_tokens;
    valid += domain.valid_tokens;
  }
  if (train != file.train.size() || valid != file.valid.size())
    throw Hdf5Failure("its domains have fewer tokens than the file");
}

TokenFile read(VerifiedFile verified) {
  const int version = verified.version;
  Hdf5Reader hdf5(std::move(verified.descriptor));
  std::map<std::string, std::string> texts;
  for (auto& [name, text] : hdf5.text_attributes()) texts[name] = text;
  TokenFile file;
  file.vocabulary = number_in<std::int64_t>(texts["vocabulary"], "the vocabulary, a number from 1 to 16777216,", 1,
                                            kLargestVocabulary);
  file.sources = texts["sources"];
  file.tokenizer_sha256 = texts["tokenizer_sha256"];
  auto ids = [&](const char* name) {
    std::uint64_t width = 0;
    MappedBytes bytes = hdf5.mapped_ids(name, width);
    return TokenIds(std::move(bytes), width);
  };
  auto marks = [&](const char* name, const TokenIds& of) {
    std::uint64_t width = 0;
    MappedBytes bytes = hdf5.mapped_ids(name, width);
    if (width != 2) throw Hdf5Failure(std::string(name) + " is not of u16");
    return TokenMarks(std::move(bytes), of.size());
  };
  file.train = ids("train");
  file.valid = ids("valid");
  if (version == 1) {
    file.domains = {{.name = "text", .train_tokens = file.train.size(), .valid_tokens = file.valid.size()}};
    file.checksum = tokens_checksum(file.train, file.valid);
    return file;
  }
  file.end_of_text = number_in<std::int64_t>(texts["end_of_text"], "end_of_text", 0, file.vocabulary - 1);
  if (texts.contains("begin_token"))
    file.begin_token = number_in<std::int64_t>(texts["begin_token"], "begin_token", 0, file.vocabulary - 1);
  file.checksum = texts["data_sha256"];
  if (file.checksum.size() != 64) throw Hdf5Failure("it has no checksum of its tokens");
  file.domains = domains_from_text(texts["domains"]);
  check_domains(file);
  if (version == 2) return file;
  file.train_predicted = marks("train_predicted", file.train);
  file.valid_predicted = marks("valid_predicted", file.valid);
  return file;
}

}  // namespace

TokenIds::TokenIds(MappedBytes bytes, std::uint64_t width)
    : bytes_(std::move(bytes)), wide_(width == 4), size_(static_cast<std::int64_t>(bytes_.size() / width)) {}

void TokenIds::copy(std::int64_t begin, std::int64_t count, std::int32_t* to) const {
  SINK_CHECK(begin >= 0 && count >= 0 && begin <= size_ && count <= size_ - begin, "tokens",
             "tokens [" + std::to_string(begin) + ", + " + std::to_string(count) + ") of " + std::to_string(size_));
  if (count == 0) return;
  const unsigned char* from = bytes_.data() + begin * (wide_ ? 4 : 2);  // not aligned
  if (wide_) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * 4);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint16_t id;
    std::memcpy(&id, from + 2 * i, 2);
    to[i] = id;
  }
}

TokenMarks::TokenMarks(MappedBytes bytes, std::int64_t size) : bytes_(std::move(bytes)) {
  auto expected = static_cast<std::size_t>((size + 15) / 16 * 2);
  if (bytes_.size() != expected)
    throw Hdf5Failure("its marks are " + std::to_string(bytes_.size()) + " bytes, " + std::to_string(size) +
                      " tokens have " + std::to_string(expected));
  for (std::int64_t t = size; t < static_cast<std::int64_t>(8 * expected); ++t)
    if (has(t)) throw Hdf5Failure("it marks tokens that it does not have");
}

std::string tokens_checksum(const TokenIds& train, const TokenIds& valid, const TokenMarks& train_predicted,
                            const TokenMarks& valid_predicted) {
  std::string counts = "train " + std::to_string(train.size()) + " valid " + std::to_string(valid.size()) + "\n";
  Sha256 digest;
  digest.add(counts.data(), counts.size());
  for (const TokenIds* ids : {&train, &valid}) add_as_i32(digest, *ids);
  for (const TokenMarks* marks : {&train_predicted, &valid_predicted})
    if (!marks->all()) digest.add(marks->bytes().data(), marks->bytes().size());
  return digest.hex();
}

std::string domains_to_text(const std::vector<TextDomain>& domains) {
  std::string text;
  for (const TextDomain& d : domains)
    text += d.name + "\t" + toml_number(d.weight) + "\t" + std::to_string(d.documents) + "\t" +
            std::to_string(d.train_tokens) + "\t" + std::to_string(d.valid_tokens) + "\n";
  return text;
}

std::vector<TextDomain> domains_from_text(const std::string& text) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  std::vector<TextDomain> domains;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    std::vector<std::string_view> cells;
    for (std::string_view line(text.data() + begin, end - begin);;) {
      std::size_t tab = std::min(line.find('\t'), line.size());
      cells.push_back(line.substr(0, tab));
      if (tab == line.size()) break;
      line.remove_prefix(tab + 1);
    }
    if (cells.size() != 5 || cells[0].empty() || cells[0].size() > kLongestDomainName || domains.size() == kMostDomains)
      throw Hdf5Failure("its list of domains is not one");
    TextDomain& domain = domains.emplace_back();
    domain.name = cells[0];
    domain.weight = number_in<double>(cells[1], "the weight of a domain", 0, 1e9);
    domain.documents = number_in<std::int64_t>(cells[2], "the documents of a domain", 0, kMost);
    domain.train_tokens = number_in<std::int64_t>(cells[3], "the tokens of a domain", 0, kMost);
    domain.valid_tokens = number_in<std::int64_t>(cells[4], "the tokens of a domain", 0, kMost);
    begin = end + 1;
  }
  if (domains.empty()) throw Hdf5Failure("it has no domains");
  return domains;
}

TokenFile read_token_file(const std::string& path) {
  VerifiedFile file = verify_checksum(kTokenFormat, path);
  try {
    return read(std::move(file));
  } catch (const Hdf5Failure& failure) {
    throw Error(path + " is not a usable token file: " + failure.what() + "; " + kTokenFormat.remedy, Exit::bad_input);
  }
}

}  // namespace sink
