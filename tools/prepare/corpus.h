// What text a data set is made of: named domains of files and folders, with weights; and one reading of all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "tools/prepare/documents.h"

namespace sink {

struct CorpusDomain {
  std::string name;
  std::vector<std::string> paths;  // files, and folders whose text files count in the order of their names
  double weight = 0;               // 0: not given
};

// "NAME=PATH[,PATH...][:WEIGHT]", paths that are not absolute below `folder`. `where` opens the messages of the Error
// (Exit::usage): "--domain".
CorpusDomain domain_of_text(const std::string& text, const std::string& folder, const std::string& where);
// The same from TOML, one line a domain: NAME = "PATH[,PATH...][:WEIGHT]". Throws Error (Exit::bad_input).
std::vector<CorpusDomain> read_mixture(const std::string& toml, const std::string& folder, const std::string& where);
// Refuses (Error, Exit::usage) names that are no names or given twice, and weights that only some have.
void check_domains(const std::vector<CorpusDomain>& domains);

struct CorpusRules : DocumentRules {
  std::int64_t least_characters = 20;  // of a document; shorter ones are dropped
  std::string format = "auto";         // auto (by name) | text | jsonl | chat
};

// What became of the documents of a domain.
struct DomainCount {
  std::int64_t files = 0, documents = 0;
  std::int64_t empty = 0, tiny = 0, duplicate = 0;  // dropped; empty is a conversation without an answer, too
  std::uint64_t bytes = 0;                          // of the documents that are kept
  std::uint64_t read_bytes = 0;                     // of the files, unpacked
};

struct Document {
  std::string text;
  std::size_t domain = 0;
  DocumentKey key;
  std::vector<ChatTurn> turns = {};  // of a conversation, to which text is what is said
};

// Goes through all documents once, domain after domain, and leaves out those that are empty (nothing but white space),
// tiny, or equal to one that came before, in whatever domain. Remembers 16 bytes of each document, and the one it is
// at.
class CorpusReading {
 public:
  CorpusReading(const std::vector<CorpusDomain>& domains, const CorpusRules& rules);

  // False at the end. Throws Error (Exit::bad_input).
  bool next(Document& document);
  const std::vector<DomainCount>& counts() const { return counts_; }
  // A line for each file that was read: its name, bytes and SHA-256, unpacked.
  const std::string& sources() const { return sources_; }

 private:
  struct File {
    std::string path;
    std::size_t domain;
    bool named;  // by the user, and not found in a folder
  };
  struct KeyHash {
    std::size_t operator()(const DocumentKey& key) const { return key.low; }
  };
  bool is_chat() const { return rules_.format == "chat"; }
  void add_files(const CorpusDomain& domain, std::size_t index);
  void end_file();
  bool is_kept(Document& document);

  CorpusRules rules_;
  std::vector<File> files_;
  std::size_t at_ = 0;  // of files_
  std::unique_ptr<DocumentReader> reader_;
  std::unordered_set<DocumentKey, KeyHash> seen_;
  std::vector<DomainCount> counts_;
  std::string sources_;
};

}  // namespace sink
