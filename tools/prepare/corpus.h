// The text of a data set: named domains of files and folders, with weights, and a reader of all their documents.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/data/tokenizer/bpe_trainer.h"
#include "tools/prepare/documents.h"

namespace sink {

struct CorpusDomain {
  std::string name;
  std::vector<std::string> paths;  // files, and folders whose text files are read in the order of their names
  double weight = 0;               // 0: not given
};

// Parses "NAME=PATH[,PATH...][:WEIGHT]"; relative paths are below `folder`. `where` starts the messages of the Error
// (Exit::usage): "--domain".
CorpusDomain parse_domain(const std::string& text, const std::string& folder, const std::string& where);
// The same from TOML, one line per domain: NAME = "PATH[,PATH...][:WEIGHT]". Throws Error (Exit::bad_input).
std::vector<CorpusDomain> read_mixture(const std::string& toml, const std::string& folder, const std::string& where);
// Throws Error (Exit::usage) for invalid or repeated names, and if only some domains have a weight.
void check_domains(const std::vector<CorpusDomain>& domains);

struct CorpusRules : DocumentRules {
  std::int64_t min_characters = 20;  // shorter documents are dropped
  std::string format = "auto";       // auto (by name) | text | jsonl | chat
};

// Counts of files, of kept and dropped documents, and of the bytes of a domain.
struct DomainCounts {
  std::int64_t files = 0, documents = 0;
  std::int64_t empty = 0, too_short = 0, duplicate = 0;  // dropped; a conversation without an answer counts as empty
  std::uint64_t bytes = 0;                               // of the kept documents
  std::uint64_t read_bytes = 0;                          // of the files, decompressed
};

struct Document {
  std::string text;
  std::size_t domain = 0;
  DocumentKey key;
  std::vector<ChatTurn> turns = {};  // of a conversation; `text` is its content
};

// Reads all documents once, domain by domain, except those that are empty (only white space), too short, or equal to an
// earlier one of any domain. Keeps 16 bytes per document in memory.
class CorpusReader {
 public:
  CorpusReader(const std::vector<CorpusDomain>& domains, const CorpusRules& rules);

  // Returns false at the end. Throws Error (Exit::bad_input).
  bool next(Document& document);
  // Whether a file is read as JSONL of texts.
  bool has_jsonl() const;
  const std::vector<DomainCounts>& counts() const { return counts_; }
  // A line per file read so far: name, bytes and SHA-256, decompressed.
  const std::string& sources() const { return sources_; }

 private:
  struct File {
    std::string path;
    std::size_t domain;
    bool named;  // by the user, not found in a folder
  };
  struct KeyHash {
    std::size_t operator()(const DocumentKey& key) const { return key.low; }
  };
  bool is_chat() const { return rules_.format == "chat"; }
  bool reads_as_jsonl(const File& file) const {
    return rules_.format == "auto" ? is_jsonl(file.path) : rules_.format == "jsonl";
  }
  void add_files(const CorpusDomain& domain, std::size_t index);
  void end_file();
  bool is_kept(Document& document);

  CorpusRules rules_;
  std::vector<File> files_;
  std::size_t at_ = 0;  // of files_
  std::unique_ptr<DocumentReader> reader_;
  std::unordered_set<DocumentKey, KeyHash> seen_;
  std::vector<DomainCounts> counts_;
  std::string sources_;
};

// The text on which a tokenizer is trained: all text in its order if it fits. Otherwise the documents whose keys are
// below a bound, which is halved whenever they are too many, so that the sample does not depend on the order of the
// documents.
class TextSample {
 public:
  // Keeps at most that many bytes, but at least one document.
  explicit TextSample(std::size_t max_bytes = 2 * kTrainingBytes) : max_bytes_(max_bytes) {}

  void add(Document document) {
    if (document.key.low >= bound_) return;
    bytes_ += document.text.size();
    documents_.push_back(std::move(document));
    while (bytes_ > max_bytes_ && documents_.size() > 1) {
      bound_ /= 2;
      std::erase_if(documents_, [&](const Document& d) { return d.key.low >= bound_; });
      bytes_ = 0;
      for (const Document& d : documents_) bytes_ += d.text.size();
    }
  }
  bool is_all() const { return bound_ == std::numeric_limits<std::uint64_t>::max(); }
  std::vector<Document>& documents() { return documents_; }

 private:
  std::size_t max_bytes_;
  std::vector<Document> documents_;
  std::size_t bytes_ = 0;
  std::uint64_t bound_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace sink
