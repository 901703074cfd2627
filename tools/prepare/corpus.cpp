#include "tools/prepare/corpus.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "engine/check.h"
#include "engine/data/token_file.h"
#include "engine/io/file.h"
#include "engine/io/parse_number.h"
#include "engine/io/settings_toml.h"

namespace sink {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSourcesBytes = 60000;  // an HDF5 attribute holds at most 64 KiB
constexpr double kMaxWeight = 1e6;

// The weight after the last colon of `text`, which it removes; 0 if there is none.
double take_weight(std::string& text, const std::string& where) {
  std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return 0;
  const std::string end = text.substr(colon + 1);
  const std::optional<double> weight = parse_number<double>(end);
  if (!weight) return 0;  // the colon is part of a path
  SINK_CHECK(*weight > 0 && *weight <= kMaxWeight, "prepare",
             where + ": expected a weight above 0 and at most 1000000, got " + end, Exit::usage);
  text.resize(colon);
  return *weight;
}

std::int64_t characters_of(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

}  // namespace

CorpusDomain parse_domain(const std::string& text, const std::string& folder, const std::string& where) {
  std::size_t equals = text.find('=');
  SINK_CHECK(equals != std::string::npos && equals > 0, "prepare",
             where + ": expected NAME=PATH[,PATH...][:WEIGHT], got `" + text + "`", Exit::usage);
  CorpusDomain domain{.name = text.substr(0, equals), .paths = {}};
  std::string paths = text.substr(equals + 1);
  domain.weight = take_weight(paths, where);
  for (std::size_t begin = 0; begin <= paths.size();) {
    std::size_t comma = std::min(paths.find(',', begin), paths.size());
    std::string path = paths.substr(begin, comma - begin);
    SINK_CHECK(!path.empty(), "prepare", where + ": domain " + domain.name + " has an empty path", Exit::usage);
    domain.paths.push_back((fs::path(folder) / path).string());
    begin = comma + 1;
  }
  return domain;
}

std::vector<CorpusDomain> read_mixture(const std::string& toml, const std::string& folder, const std::string& where) {
  std::vector<CorpusDomain> domains;
  for (const auto& [name, value] : read_settings_toml(toml, where, Exit::bad_input))
    domains.push_back(parse_domain(name + "=" + value, folder, where));
  SINK_CHECK(!domains.empty(), "prepare", where + " has no domains; a line is NAME = \"PATH[,PATH...][:WEIGHT]\"",
             Exit::bad_input);
  return domains;
}

void check_domains(const std::vector<CorpusDomain>& domains) {
  std::set<std::string> names;
  std::size_t weighted = 0;
  SINK_CHECK(domains.size() <= kMostDomains, "prepare",
             "expected at most " + std::to_string(kMostDomains) + " domains, got " + std::to_string(domains.size()),
             Exit::usage);
  for (const CorpusDomain& domain : domains) {
    bool printable = std::none_of(domain.name.begin(), domain.name.end(),
                                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    SINK_CHECK(printable && !domain.name.empty() && domain.name.size() <= kLongestDomainName, "prepare",
               "the name of a domain must have 1 to " + std::to_string(kLongestDomainName) + " printable bytes, got `" +
                   domain.name + "`",
               Exit::usage);
    SINK_CHECK(names.insert(domain.name).second, "prepare", "domain " + domain.name + " is given twice", Exit::usage);
    weighted += domain.weight > 0;
  }
  SINK_CHECK(weighted == 0 || weighted == domains.size(), "prepare",
             "only some domains have a weight; give all of them one, or none", Exit::usage);
}

CorpusReader::CorpusReader(const std::vector<CorpusDomain>& domains, const CorpusRules& rules)
    : rules_(rules), counts_(domains.size()) {
  for (std::size_t d = 0; d < domains.size(); ++d) add_files(domains[d], d);
}

void CorpusReader::add_files(const CorpusDomain& domain, std::size_t index) {
  for (const std::string& path : domain.paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files_.push_back({path, index, true});
      continue;
    }
    std::vector<std::string> found;
    auto is_read = [&](const std::string& name) { return is_chat() ? is_jsonl(name) : is_text(name); };
    fs::recursive_directory_iterator entries(path, error);
    for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
      const fs::path entry = entries->path();
      if (!is_read(entry.filename().string())) continue;
      std::error_code lost;  // a broken link, or one to itself
      if (entries->is_regular_file(lost)) found.push_back(entry.string());
      SINK_CHECK(!lost, "text",
                 entry.string() + ": " + lost.message() + "; expected a file; remove it, or repair the link",
                 Exit::bad_input);
    }
    if (error && is_shortage(error.value())) fail_io("open", path, error.value());
    SINK_CHECK(!error, "text", path + ": " + error.message(), Exit::bad_input);
    SINK_CHECK(!found.empty(), "text",
               path + ": the folder has no text files (" + (is_chat() ? "" : ".txt, .text, .md, ") +
                   ".jsonl or .ndjson, also packed as .gz or .zst)",
               Exit::bad_input);
    std::sort(found.begin(), found.end());
    for (const std::string& file : found) files_.push_back({file, index, false});
  }
}

bool CorpusReader::has_jsonl() const {
  return std::any_of(files_.begin(), files_.end(), [this](const File& file) { return reads_as_jsonl(file); });
}

bool CorpusReader::next(Document& document) {
  for (; at_ < files_.size(); ++at_) {
    const File& file = files_[at_];
    if (!reader_) reader_ = std::make_unique<DocumentReader>(file.path, reads_as_jsonl(file), rules_);
    while (is_chat() ? reader_->next(document.text, document.turns) : reader_->next(document.text)) {
      document.domain = file.domain;
      if (is_kept(document)) return true;
    }
    end_file();
  }
  return false;
}

void CorpusReader::end_file() {
  const File& file = files_[at_];
  SINK_CHECK(!file.named || !reader_->blank(), "text", file.path + ": is empty, expected text", Exit::bad_input);
  DomainCounts& count = counts_[file.domain];
  ++count.files;
  count.read_bytes += reader_->bytes();
  if (sources_.size() < kMaxSourcesBytes)
    sources_ += fs::path(file.path).filename().string() + " " + std::to_string(reader_->bytes()) +
                " sha256:" + reader_->sha256() + "\n";
  reader_.reset();
}

bool CorpusReader::is_kept(Document& document) {
  DomainCounts& count = counts_[document.domain];
  std::string_view text = document.text;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return ++count.empty, false;
  if (is_chat() && !has_answer(text, document.turns)) return ++count.empty, false;
  if (characters_of(text) < rules_.min_characters) return ++count.too_short, false;
  document.key = key_of(is_chat() ? conversation_identity(text, document.turns) : document.text);
  if (!seen_.insert(document.key).second) return ++count.duplicate, false;
  ++count.documents;
  count.bytes += text.size();
  return true;
}

}  // namespace sink
