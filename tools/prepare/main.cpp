// prepare: turns text files into tokenizer.json and tokens.h5, the input of training.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "engine/check.h"
#include "engine/data/chat/chat_template.h"
#include "engine/data/token_writer.h"
#include "engine/data/tokenizer/bpe_trainer.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/command_line.h"
#include "engine/io/file.h"
#include "engine/io/folder_lock.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/io/setting.h"
#include "engine/io/settings_toml.h"
#include "engine/io/sha256.h"
#include "engine/threads.h"
#include "tools/prepare/corpus.h"
#include "tools/prepare/document_encoder.h"

namespace sink {
namespace {

constexpr std::size_t kMinTextBytes = 1000;

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
  bool force = false, field_given = false;
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

// Creates and locks the output folder before any work. Throws Error if it cannot be written, or without `force` if it
// holds finished data, or files of these names that `prepare` did not make.
FolderLock take_folder(const std::string& path, bool force) {
  make_folders(path);
  SINK_CHECK(::access(path.c_str(), W_OK) == 0, "prepare", "cannot write into " + path + ": " + std::strerror(errno),
             Exit::io);
  FolderLock lock(path);
  const OutputKind tokens = kind_by_text("a token file of `prepare`", "sinklab-tokens ");
  require_output(path + "/tokens.h5", tokens, force);
  // A tokenizer.json is ours if a token file of ours is next to it.
  auto is_ours = [&](const std::string&) {
    return std::filesystem::exists(path + "/tokens.h5") && tokens.recognises(path + "/tokens.h5");
  };
  require_output(path + "/tokenizer.json", {"of tokens made by `prepare`", is_ours}, force);
  if (!force && is_ours(path) && std::filesystem::exists(path + "/tokenizer.json"))
    throw Error(path +
                    " already holds data of `prepare`, without which the runs that read it cannot resume; choose "
                    "another --out, or --force replaces it",
                Exit::usage);
  return lock;
}

std::vector<CorpusDomain> domains_of(const Options& options) {
  std::vector<CorpusDomain> domains;
  if (!options.mixture.empty())
    domains =
        read_mixture(read_file("mixture", options.mixture, kMaxSettingsBytes + 1), options.folder, options.mixture);
  for (const std::string& text : options.domains) domains.push_back(parse_domain(text, options.folder, "--domain"));
  if (!options.text.empty()) domains.push_back({.name = "text", .paths = options.text});
  if (!options.chat.empty()) domains.push_back({.name = "chat", .paths = options.chat});
  SINK_CHECK(!domains.empty(), "prepare", "--text, --domain, --mixture or --chat is needed: give the text to read",
             Exit::usage);
  check_domains(domains);
  return domains;
}

DomainCounts total_of(const std::vector<DomainCounts>& counts) {
  DomainCounts total;
  for (const DomainCounts& count : counts) {
    total.documents += count.documents;
    total.bytes += count.bytes;
    total.read_bytes += count.read_bytes;
  }
  return total;
}

void check_counts(const DomainCounts& total) {
  SINK_CHECK(total.read_bytes >= kMinTextBytes, "text",
             "the text is too short: " + std::to_string(total.read_bytes) + " bytes; expected at least " +
                 std::to_string(kMinTextBytes),
             Exit::bad_input);
  SINK_CHECK(total.documents > 0, "text",
             "no documents are left: all are empty, without an answer or shorter than --min-characters",
             Exit::bad_input);
}

// Text from a pipe cannot be read twice.
void require_readable_twice(const std::vector<CorpusDomain>& domains) {
  for (const CorpusDomain& domain : domains)
    for (const std::string& path : domain.paths)
      SINK_CHECK(std::filesystem::is_regular_file(path) || std::filesystem::is_directory(path), "text",
                 path + ": must be a file, because so much text is read twice; or give --tokenizer", Exit::bad_input);
}

Tokenizer trained_tokenizer(CorpusReader& reader, TextSample& sample, std::int64_t vocabulary,
                            const Progress& progress) {
  for (Document document; reader.next(document);) sample.add(std::move(document));
  check_counts(total_of(reader.counts()));
  std::vector<std::string_view> texts;
  for (const Document& document : sample.documents()) texts.push_back(document.text);
  progress("read all text" + std::string(sample.is_all() ? "" : ", the tokenizer is trained on a sample"));
  return Tokenizer::train(texts, vocabulary);
}

void write(const Options& options, const Tokenizer& tokenizer, const std::string& sources, TokenWriter& writer) {
  if (std::int64_t moved = writer.hold_out(options.validation_fraction))
    std::fprintf(stderr, "prepare: note: too few documents to split; holding out the last %lld tokens\n",
                 static_cast<long long>(moved));
  std::string json = tokenizer.json();
  writer.close({.end_of_text = tokenizer.end_of_text(),
                .begin_token = options.begin_token,
                .sources = sources,
                .tokenizer_sha256 = sha256_hex(json)});
  OutputFile tokenizer_file(options.out + "/tokenizer.json", json.size());
  tokenizer_file.write(json.data(), json.size());
  tokenizer_file.close();
  // In this order, so that a tokenizer.json without a token file is never ours.
  writer.commit();
  tokenizer_file.commit();
}

void print_table(const std::vector<DomainCounts>& counts, const std::vector<TextDomain>& domains) {
  double tokens = 0;
  for (const TextDomain& domain : domains) tokens += static_cast<double>(domain.train_tokens + domain.valid_tokens);
  std::printf("\n%-20s %9s %9s %13s %13s %11s %7s %7s %9s %9s %9s\n", "domain", "files", "documents", "bytes",
              "train tokens", "valid", "share", "weight", "empty", "too short", "copies");
  for (std::size_t d = 0; d < domains.size(); ++d) {
    const DomainCounts& count = counts[d];
    const TextDomain& domain = domains[d];
    auto own = static_cast<double>(domain.train_tokens + domain.valid_tokens);
    char weight[32] = "-";
    if (domain.weight > 0) std::snprintf(weight, sizeof weight, "%.4g", domain.weight);
    std::printf("%-20s %9lld %9lld %13llu %13lld %11lld %7.4f %7s %9lld %9lld %9lld\n", printable(domain.name).c_str(),
                static_cast<long long>(count.files), static_cast<long long>(count.documents),
                static_cast<unsigned long long>(count.bytes), static_cast<long long>(domain.train_tokens),
                static_cast<long long>(domain.valid_tokens), own / tokens, weight, static_cast<long long>(count.empty),
                static_cast<long long>(count.too_short), static_cast<long long>(count.duplicate));
  }
}

void print_prepared(const std::vector<DomainCounts>& counts, const TokenWriter& writer, std::int64_t vocabulary) {
  const DomainCounts total = total_of(counts);
  std::int64_t tokens = writer.train_tokens() + writer.valid_tokens();
  std::printf("documents         %lld\n", static_cast<long long>(total.documents));
  std::printf("vocabulary        %lld\n", static_cast<long long>(vocabulary));
  std::printf("train tokens      %lld\n", static_cast<long long>(writer.train_tokens()));
  std::printf("valid tokens      %lld\n", static_cast<long long>(writer.valid_tokens()));
  if (writer.predicted_tokens() < tokens)
    std::printf("predicted tokens  %lld\n", static_cast<long long>(writer.predicted_tokens()));
  std::printf("bytes per token   %.2f\n", static_cast<double>(total.bytes) / static_cast<double>(tokens));
  print_table(counts, writer.domains());
}

void prepare(const Options& options) {
  Progress progress;
  std::vector<CorpusDomain> domains = domains_of(options);
  FolderLock lock = take_folder(options.out, options.force);
  auto reader = std::make_unique<CorpusReader>(domains, options.rules);
  SINK_CHECK(!options.field_given || reader->has_jsonl(), "prepare",
             "--field is a key of JSONL, and no file here is JSONL: leave it out, or give --format jsonl if the names "
             "do not end in .jsonl or .ndjson",
             Exit::usage);
  bool trains = options.tokenizer.empty();
  TextSample sample;
  Tokenizer tokenizer =
      trains ? trained_tokenizer(*reader, sample, options.vocabulary, progress) : Tokenizer::load(options.tokenizer);
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
    std::string first = reader->sources();
    sample = TextSample();
    if (trains) {
      require_readable_twice(domains);
      reader = std::make_unique<CorpusReader>(domains, options.rules);
    }
    for (Document document; reader->next(document);) encoder.add(std::move(document));
    SINK_CHECK(!trains || reader->sources() == first, "text",
               "the text changed between its two reads; run prepare again", Exit::bad_input);
    check_counts(total_of(reader->counts()));
  }
  encoder.finish();
  progress("encoded");
  write(options, tokenizer, reader->sources(), writer);
  progress("wrote " + options.out);
  print_prepared(reader->counts(), writer, tokenizer.vocabulary());
}

void add_input_options(CLI::App& app, Options& options) {
  app.add_option("--text", options.text, "text files and folders: one domain named text")->type_name("PATH...");
  app.add_option("--domain", options.domains, "NAME=PATH[,PATH...][:WEIGHT]; give it per domain")->type_name("DOMAIN");
  app.add_option("--mixture", options.mixture, "TOML of domains: NAME = \"PATH[,...][:WEIGHT]\"")->type_name("FILE");
  app.add_option("--in", options.folder, "folder of relative paths of --domain, --mixture")
      ->capture_default_str()
      ->type_name("DIR");
  auto* chat = app.add_option("--chat", options.chat, "JSONL of conversations and folders of it")->type_name("PATH...");
  for (const char* other : {"--text", "--domain", "--mixture"}) chat->excludes(app.get_option(other));
  app.add_option("--template", options.chat_template, "markers around the turns; of --chat")
      ->check(CLI::IsMember(chat_template_names()))
      ->capture_default_str()
      ->needs(chat);
  auto* format = app.add_option("--format", options.rules.format, "of the text; auto: by the file names")
                     ->check(CLI::IsMember({"auto", "text", "jsonl"}))
                     ->capture_default_str();
  auto* field = app.add_option("--field", options.rules.field, "key of the text in a line of JSONL");
  field->capture_default_str();
  chat->excludes(format)->excludes(field);
  app.add_option("--min-characters", options.rules.min_characters, "drop shorter documents")
      ->check(whole_number(0, std::int64_t{1} << 30))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--longest-document", options.rules.max_bytes, "refuse longer documents, in bytes")
      ->check(whole_number(1000, std::int64_t{1} << 36))
      ->capture_default_str()
      ->type_name("N");
}

// Returns false if help was printed.
bool parse(int argc, char** argv, Options& options) {
  CLI::App app("Turns UTF-8 text into tokenizer.json and tokens.h5, the input of training.", "prepare");
  add_input_options(app, options);
  app.add_option("--out", options.out, "folder to write")->required()->type_name("DIR");
  auto* vocabulary = app.add_option("--vocab", options.vocabulary, "size of the vocabulary to train");
  vocabulary->check(whole_number(258, std::int64_t{1} << 24))->capture_default_str()->type_name("N");
  auto* tokenizer = app.add_option("--tokenizer", options.tokenizer, "use this tokenizer.json (or .bin)");
  tokenizer->type_name("FILE")->excludes(vocabulary);
  app.add_option("--begin-token", options.begin_token, "before every document; -1: none, as the paper")
      ->check(whole_number(-1, std::int64_t{1} << 24))
      ->capture_default_str()
      ->type_name("ID");
  app.add_option("--validation-fraction", options.validation_fraction, "fraction of documents to hold out, by hash")
      ->check(real_number(0.0001, 0.5))
      ->capture_default_str()
      ->type_name("F");
  app.add_flag("--force", options.force, "replace what --out holds already");
  app.footer(
      "Text is plain (documents separated by lines <|endoftext|>) or JSONL (one object "
      "per line), also as gzip or zstd. Empty, too short and repeated documents are "
      "dropped. <|endoftext|> follows each document. All domains have a weight, by "
      "which --data-order mixture draws them, or none.\n\n"
      "A line of --chat has messages (role: system, user, assistant; content) or "
      "conversations (from: system, human, gpt; value). Only answers count in the "
      "loss. Templates: plain, <|user|> and <|end|>; zephyr, <|user|> and the end of "
      "text, where --document-mask cuts; chatml, <|im_start|> and <|im_end|>; llama3 "
      "and gemma, those of these models.\n\n"
      "Memory: up to 128 MiB of text to train a tokenizer (more is read twice), 64 MiB "
      "to encode, and about 50 bytes per document to find repeated ones.\n\n"
      "Examples:\n  prepare --text data/text --out data/english\n"
      "  prepare --chat chats.jsonl.gz --tokenizer tokenizer.json --out data/chat\n"
      "  prepare --domain wiki=wiki.jsonl.zst:2 --domain code=src.gz,more/:1 --out d");
  if (!parse_command_line(app, argc, argv)) return false;
  if (app.count("--in") > 0 && options.domains.empty() && options.mixture.empty())
    throw Error("--in is read with --domain or --mixture, whose relative paths begin there: leave it out, or give one",
                Exit::usage);
  options.field_given = app.count("--field") > 0;
  if (!options.chat.empty()) options.rules.format = "chat";
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
