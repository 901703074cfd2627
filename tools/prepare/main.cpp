// prepare: turns text files into what training reads, tokenizer.json and tokens.h5.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "engine/check.h"
#include "engine/data/token_writer.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/file.h"
#include "engine/io/folder_lock.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "engine/io/program.h"
#include "engine/io/sha256.h"
#include "engine/thread_start.h"
#include "engine/threads.h"
#include "tools/prepare/documents.h"

namespace sink {

namespace {

struct Options {
  std::vector<std::string> text;
  std::string out;
  std::string tokenizer;
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

std::vector<std::vector<std::int32_t>> encode_all(const Tokenizer& tokenizer,
                                                  const std::vector<std::string_view>& documents) {
  std::vector<std::vector<std::int32_t>> ids(documents.size());
  constexpr std::int64_t kShare = 256;  // documents: enough to fill a cache, few enough to keep all threads busy
  auto count = static_cast<std::int64_t>(documents.size());
  parallel_for((count + kShare - 1) / kShare, [&](std::int64_t share) {
    EncodeCache cache;
    for (auto i = static_cast<std::size_t>(share * kShare);
         i < std::min(ids.size(), static_cast<std::size_t>((share + 1) * kShare)); ++i) {
      ids[i] = tokenizer.encode(documents[i], cache);
    }
  });
  return ids;
}

// Each document is followed by the end-of-text token; there is none at the beginning. Where the text has so few
// documents that one side would stay empty, the last part of the tokens is held out instead.
void split(std::vector<std::vector<std::int32_t>>& ids, const std::vector<std::string_view>& documents,
           std::int32_t end_of_text, double fraction, TokenWriter& writer) {
  writer.begin_domain("text", 0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids[i].push_back(end_of_text);
    writer.add_document(ids[i], is_validation(documents[i], fraction));
  }
  if (std::int64_t moved = writer.hold_out(fraction))
    std::fprintf(stderr, "prepare: note: too few documents to split; the last %lld tokens are held out\n",
                 static_cast<long long>(moved));
}

void prepare(const Options& options) {
  Progress progress;
  FolderLock lock = take_folder(options.out, options.force);
  std::vector<TextFile> files = read_text_files(options.text);
  std::vector<std::string_view> documents = documents_of(files);
  SINK_CHECK(!documents.empty(), "text", "the text has no documents, only marks", Exit::bad_input);
  std::size_t bytes = 0;
  std::string sources;
  for (const TextFile& file : files) {
    bytes += file.bytes.size();
    // An HDF5 attribute holds 64 KiB at most.
    if (sources.size() > 60000) continue;
    sources += std::filesystem::path(file.path).filename().string() + " " + std::to_string(file.bytes.size()) +
               " sha256:" + sha256_hex(file.bytes) + "\n";
  }
  progress("read " + std::to_string(bytes) + " bytes, " + std::to_string(documents.size()) + " documents");

  Tokenizer tokenizer =
      options.tokenizer.empty() ? Tokenizer::train(documents, options.vocabulary) : Tokenizer::load(options.tokenizer);
  progress((options.tokenizer.empty() ? "trained" : "loaded") + std::string(" a tokenizer of ") +
           std::to_string(tokenizer.vocabulary()) + " tokens");
  if (tokenizer.expects_nfc()) {
    progress(
        "note: this tokenizer asks for NFC; the text is taken as it is (most text is NFC, else use `uconv -x nfc`)");
  }

  auto ids = encode_all(tokenizer, documents);
  progress("encoded");
  TokenWriter writer(options.out + "/tokens.h5", tokenizer.vocabulary());
  split(ids, documents, tokenizer.end_of_text(), options.validation_fraction, writer);
  std::string json = tokenizer.json();
  writer.close({.end_of_text = tokenizer.end_of_text(), .sources = sources, .tokenizer_sha256 = sha256_hex(json)});
  OutputFile tokenizer_file(options.out + "/tokenizer.json", json.size());
  tokenizer_file.write(json.data(), json.size());
  tokenizer_file.close();
  // In this order, so that a tokenizer that stands there alone is never ours.
  writer.commit();
  tokenizer_file.commit();
  progress("wrote " + options.out);

  std::int64_t total = writer.train_tokens() + writer.valid_tokens();
  std::printf("documents         %zu\n", documents.size());
  std::printf("vocabulary        %lld\n", static_cast<long long>(tokenizer.vocabulary()));
  std::printf("train tokens      %lld\n", static_cast<long long>(writer.train_tokens()));
  std::printf("valid tokens      %lld\n", static_cast<long long>(writer.valid_tokens()));
  std::printf("bytes per token   %.2f\n", static_cast<double>(bytes) / static_cast<double>(total));
}

// False when help was asked for and printed.
bool parse(int argc, char** argv, Options& options) {
  CLI::App app("Turns UTF-8 text (documents separated by lines <|endoftext|>) into tokenizer.json and tokens.h5.",
               "prepare");
  app.add_option("--text", options.text, "text files")->required()->type_name("FILE...");
  app.add_option("--out", options.out, "folder to write into; made if it is not there")->required()->type_name("DIR");
  auto* vocabulary = app.add_option("--vocab", options.vocabulary, "tokens of the vocabulary to train");
  vocabulary->check(CLI::Range(std::int64_t{258}, std::int64_t{1} << 24))->capture_default_str()->type_name("N");
  auto* tokenizer = app.add_option("--tokenizer", options.tokenizer, "use this tokenizer.json instead of training one");
  tokenizer->type_name("FILE")->excludes(vocabulary);
  app.add_option("--validation-fraction", options.validation_fraction, "part of the documents that is held out")
      ->check(CLI::Range(0.0001, 0.5))
      ->capture_default_str()
      ->type_name("F");
  app.add_flag("--force", options.force, "let files be replaced that `prepare` did not make");
  try {
    app.parse(argc, argv);
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
