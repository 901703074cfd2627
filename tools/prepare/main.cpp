// prepare: turns text files into what training reads, tokenizer.json and tokens.h5.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>

#include "engine/check.h"
#include "engine/data/chat/chat_template.h"
#include "engine/data/token_writer.h"
#include "engine/data/tokenizer/bpe_trainer.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/file.h"
#include "engine/io/folder_lock.h"
#include "engine/io/number_check.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/io/sha256.h"
#include "engine/thread_start.h"
#include "engine/threads.h"
#include "tools/prepare/corpus.h"
#include "tools/prepare/document_encoder.h"
#include "tools/prepare/prepare_table.h"
#include "tools/prepare/text_sample.h"

namespace sink {

namespace {

constexpr std::size_t kLeastText = 1000;  // bytes

struct Options {
  std::vector<std::string> text, domains, chat;
  std::string mixture, folder = ".";
  std::string out;
  std::string tokenizer;
  std::string chat_template = "plain";
  CorpusRules rules;
  std::int64_t begin_token = -1;
  std::int64_t vocabulary = 4096;
  double validation_fraction = 0.01;
  bool force = false;
};

class Progress {
 public:
  void operator()(const std::string& what) const {
    std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
    std::fprintf(stderr, "prepare: %5.1f s  %s\n", since.count(), printable(what).c_str());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Made before the work, so that a folder that cannot be written is known at once, or holds other things of these names.
FolderLock take_folder(const std::string& path, bool force) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  SINK_CHECK(!error, "prepare", "cannot make the folder " + path + ": " + error.message(), Exit::io);
  SINK_CHECK(::access(path.c_str(), W_OK) == 0, "prepare", "cannot write into " + path + ": " + std::strerror(errno),
             Exit::io);
  FolderLock lock(path);
  const OutputKind tokens = kind_by_text("a token file of `prepare`", "sinklab-tokens ");
  require_output(path + "/tokens.h5", tokens, force);
  // Any tokenizer looks like ours; that one is which has tokens of ours beside it.
  auto is_ours = [&](const std::string&) {
    return std::filesystem::exists(path + "/tokens.h5") && tokens.recognises(path + "/tokens.h5");
  };
  require_output(path + "/tokenizer.json", {"of tokens made by `prepare`", is_ours}, force);
  return lock;
}

std::vector<CorpusDomain> domains_of(const Options& options) {
  std::vector<CorpusDomain> domains;
  if (!options.mixture.empty())
    domains = read_mixture(read_file("mixture", options.mixture), options.folder, options.mixture);
  for (const std::string& text : options.domains) domains.push_back(domain_of_text(text, options.folder, "--domain"));
  if (!options.text.empty()) domains.push_back({.name = "text", .paths = options.text});
  if (!options.chat.empty()) domains.push_back({.name = "chat", .paths = options.chat});
  SINK_CHECK(!domains.empty(), "prepare", "--text, --domain, --mixture or --chat is needed: what to read", Exit::usage);
  check_domains(domains);
  return domains;
}

void check_counts(const std::vector<DomainCount>& counts) {
  std::uint64_t bytes = 0;
  std::int64_t kept = 0;
  for (const DomainCount& count : counts) {
    bytes += count.read_bytes;
    kept += count.documents;
  }
  SINK_CHECK(bytes >= kLeastText, "text",
             "the text is too short: " + std::to_string(bytes) + " bytes in all, at least " +
                 std::to_string(kLeastText) + " are needed",
             Exit::bad_input);
  SINK_CHECK(kept > 0, "text",
             "the text has no documents, or all are empty, without an answer or shorter than --min-characters",
             Exit::bad_input);
}

// A pipe's text is gone once it was read.
void require_readable_again(const std::vector<CorpusDomain>& domains) {
  for (const CorpusDomain& domain : domains)
    for (const std::string& path : domain.paths)
      SINK_CHECK(std::filesystem::is_regular_file(path) || std::filesystem::is_directory(path), "text",
                 path + ": so much text is read twice, which takes a file; or give --tokenizer", Exit::bad_input);
}

Tokenizer trained_tokenizer(CorpusReading& reading, TextSample& sample, std::int64_t vocabulary,
                            const Progress& progress) {
  for (Document document; reading.next(document);) sample.add(std::move(document));
  check_counts(reading.counts());
  std::vector<std::string_view> texts;
  for (const Document& document : sample.documents()) texts.push_back(document.text);
  progress("read all text" + std::string(sample.is_all() ? "" : ", a part of which is learnt from"));
  return Tokenizer::train(texts, vocabulary);
}

void write(const Options& options, const Tokenizer& tokenizer, const std::string& sources, TokenWriter& writer) {
  if (std::int64_t moved = writer.hold_out(options.validation_fraction))
    std::fprintf(stderr, "prepare: note: too few documents to split; the last %lld tokens are held out\n",
                 static_cast<long long>(moved));
  std::string json = tokenizer.json();
  writer.close({.end_of_text = tokenizer.end_of_text(), .sources = sources, .tokenizer_sha256 = sha256_hex(json)});
  OutputFile tokenizer_file(options.out + "/tokenizer.json", json.size());
  tokenizer_file.write(json.data(), json.size());
  tokenizer_file.close();
  // In this order, so that a tokenizer that stands there alone is never ours.
  writer.commit();
  tokenizer_file.commit();
}

void prepare(const Options& options) {
  Progress progress;
  std::vector<CorpusDomain> domains = domains_of(options);
  FolderLock lock = take_folder(options.out, options.force);
  auto reading = std::make_unique<CorpusReading>(domains, options.rules);
  bool trains = options.tokenizer.empty();
  TextSample sample;
  Tokenizer tokenizer =
      trains ? trained_tokenizer(*reading, sample, options.vocabulary, progress) : Tokenizer::load(options.tokenizer);
  progress((trains ? "trained" : "loaded") + std::string(" a tokenizer of ") + std::to_string(tokenizer.vocabulary()) +
           " tokens");
  if (int without = tokenizer.bytes_without_token(); without > 0) {
    progress("note: this tokenizer has no token for " + std::to_string(without) +
             " of the bytes of UTF-8: rare characters are lost");
  }
  SINK_CHECK(options.begin_token < tokenizer.vocabulary(), "prepare",
             "--begin-token must be below the vocabulary of " + std::to_string(tokenizer.vocabulary()) + " tokens",
             Exit::usage);

  const bool is_chat = !options.chat.empty();
  TokenWriter writer(options.out + "/tokens.h5", tokenizer.vocabulary(), is_chat);
  DocumentEncoder encoder(tokenizer, domains, writer,
                          {.begin_token = options.begin_token,
                           .validation_fraction = options.validation_fraction,
                           .chat_template = is_chat ? options.chat_template : ""});
  if (trains && sample.is_all()) {
    for (Document& document : sample.documents()) encoder.add(std::move(document));
  } else {
    std::string first = reading->sources();
    sample = {};
    if (trains) {
      require_readable_again(domains);
      reading = std::make_unique<CorpusReading>(domains, options.rules);
    }
    for (Document document; reading->next(document);) encoder.add(std::move(document));
    SINK_CHECK(!trains || reading->sources() == first, "text", "the text changed while it was read", Exit::bad_input);
    check_counts(reading->counts());
  }
  encoder.finish();
  progress("encoded");
  write(options, tokenizer, reading->sources(), writer);
  progress("wrote " + options.out);
  print_prepared(reading->counts(), writer, tokenizer.vocabulary());
}

void add_input_options(CLI::App& app, Options& options) {
  app.add_option("--text", options.text, "text files, and folders of them: one domain, named text")
      ->type_name("PATH...");
  app.add_option("--domain", options.domains,
                 "one domain of several, as NAME=PATH[,PATH...][:WEIGHT]; weights are what --data-order mixture draws "
                 "by, all domains have one or none")
      ->type_name("DOMAIN");
  app.add_option("--mixture", options.mixture, "TOML file of domains: lines NAME = \"PATH[,PATH...][:WEIGHT]\"")
      ->type_name("FILE");
  app.add_option("--in", options.folder, "folder where relative paths of --domain and --mixture begin")
      ->capture_default_str()
      ->type_name("DIR");
  auto* chat = app.add_option("--chat", options.chat,
                              "JSONL of conversations, and folders of it: one domain, named chat. A line has messages "
                              "(role: system, user, assistant; content) or conversations (from: system, human, gpt; "
                              "value); the loss of training counts the answers alone");
  chat->type_name("PATH...");
  for (const char* other : {"--text", "--domain", "--mixture"}) chat->excludes(app.get_option(other));
  app.add_option("--template", options.chat_template,
                 "what stands around a turn of --chat: plain, <|user|> and <|end|>; zephyr, <|user|> and the end of "
                 "text, where --document-mask cuts; chatml, <|im_start|> and <|im_end|>; llama3 and gemma, as those do")
      ->check(CLI::IsMember(chat_template_names()))
      ->capture_default_str()
      ->needs(chat);
  auto* format = app.add_option("--format", options.rules.format,
                                "text: documents apart by lines <|endoftext|>; jsonl: an object a line; auto: by name")
                     ->check(CLI::IsMember({"auto", "text", "jsonl"}))
                     ->capture_default_str();
  chat->excludes(format);
  app.add_option("--field", options.rules.field, "of JSONL, that holds the text")->capture_default_str();
  app.add_option("--min-characters", options.rules.least_characters, "shorter documents are dropped, and counted")
      ->check(whole_number(0, std::int64_t{1} << 30))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--longest-document", options.rules.longest, "bytes; a longer one is refused")
      ->check(whole_number(1000, std::int64_t{1} << 36))
      ->capture_default_str()
      ->type_name("N");
}

// False when help was asked for and printed.
bool parse(int argc, char** argv, Options& options) {
  CLI::App app(
      "Turns UTF-8 text into tokenizer.json and tokens.h5. Text is plain or JSONL, gzip and zstd are unpacked. Dropped "
      "are documents that are empty, too short, or equal to an earlier one.",
      "prepare");
  add_input_options(app, options);
  app.add_option("--out", options.out, "folder to write into; made if it is not there")->required()->type_name("DIR");
  auto* vocabulary = app.add_option("--vocab", options.vocabulary, "tokens of the vocabulary to train");
  vocabulary->check(whole_number(258, std::int64_t{1} << 24))->capture_default_str()->type_name("N");
  auto* tokenizer = app.add_option("--tokenizer", options.tokenizer,
                                   "use this tokenizer.json (or tokenizer.bin of llama2.c) instead of training one");
  tokenizer->type_name("FILE")->excludes(vocabulary);
  app.add_option("--begin-token", options.begin_token,
                 "id put before every document; -1: none, as in the study. <|endoftext|> comes behind each anyway")
      ->check(whole_number(-1, std::int64_t{1} << 24))
      ->capture_default_str()
      ->type_name("ID");
  app.add_option("--validation-fraction", options.validation_fraction,
                 "part of the documents that is held out, chosen by the hash of each")
      ->check(real_number(0.0001, 0.5))
      ->capture_default_str()
      ->type_name("F");
  app.add_flag("--force", options.force, "let files be replaced that `prepare` did not make");
  app.footer(
      "Memory: up to 128 MiB of text to learn a vocabulary from (more is read twice), 64 MiB to encode, and some 50\n"
      "bytes a document, to know copies; tokens wait on the disk.\n\n"
      "Examples:\n  prepare --text data/text --out data/english\n"
      "  prepare --chat ultrachat.jsonl.gz --tokenizer data/english/tokenizer.json --out data/chat\n"
      "  prepare --domain wiki=wiki.jsonl.zst:2 --domain code=src.jsonl.gz,more/:1 --tokenizer tokenizer.json --out d");
  try {
    app.parse(argc, argv);
    if (!options.chat.empty()) options.rules.format = "chat";
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) { throw Error(error.what(), Exit::usage); }
  return true;
}

}  // namespace

}  // namespace sink

int main(int argc, char** argv) {
  return sink::run_program("prepare", [&] {
    sink::Options options;
    if (!sink::parse(argc, argv, options)) return 0;
    sink::start_threads(0);
    sink::prepare(options);
    return 0;
  });
}
