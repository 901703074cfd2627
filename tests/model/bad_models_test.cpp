// Models of other programs that are damaged, foreign or no files at all, as a user meets them: one line that says what
// was expected, an exit code of its own kind (4 for what is damaged or foreign, 3 for what is not there or no file),
// and an end at once.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/io/file.h"
#include "engine/io/utf8.h"
#include "model/open/open_model.h"
#include "tests/model/open_golden.h"
#include "tests/support/files.h"
#include "tests/support/in_turn.h"
#include "tests/support/subprocess.h"

using namespace sink;
using namespace sink::test;

namespace {

namespace fs = std::filesystem;

// The tiny LLaMA in its folder, or as one file, to be damaged.
std::string folder_of_llama(const TemporaryFolder& folder, const std::string& name) {
  fs::copy(kModels + "llama", folder / name);
  return folder / name;
}

void replace_in(const std::string& path, const std::string& from, const std::string& to) {
  std::string bytes = read_bytes(path);
  const std::size_t at = bytes.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  write_bytes(path, bytes.replace(at, from.size(), to));
}

// By a command of eval_baseline, `MODEL` in it being the model.
void check_refused_by(const TemporaryFolder& folder, const std::string& command, const std::string& model, int code,
                      const std::vector<std::string>& clues) {
  CAPTURE(command);
  CAPTURE(model);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> words = words_of("eval_baseline " + command);
  std::replace(words.begin(), words.end(), std::string("MODEL"), model);
  Subprocess program(folder, words);
  CHECK(program.wait_for(30) == code);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  const std::string message = program.err();
  CHECK_MESSAGE(std::count(message.begin(), message.end(), '\n') == 1, message);
  CHECK_MESSAGE(message.starts_with("eval_baseline: error: "), message);
  for (const std::string& clue : clues) CHECK_MESSAGE(message.find(clue) != std::string::npos, message);
  CHECK(program.out().empty());
}
void check_refused_at_once(const TemporaryFolder& folder, const std::string& model, int code,
                           const std::vector<std::string>& clues) {
  check_refused_by(folder, "sink --model MODEL --input random --sequences 1 --context 8", model, code, clues);
}

// The file with `value` in the place of element `index` of a tensor of F32.
template <class T>
void put_into(const std::string& path, const std::string& tensor, std::size_t index, T value) {
  std::string bytes = read_bytes(path);
  const WeightFile file = open_weights(path);
  const StoredTensor& stored = file.tensor(tensor);
  const std::string numbers(reinterpret_cast<const char*>(stored.data), stored.bytes);
  const std::size_t at = bytes.find(numbers);
  REQUIRE(at != std::string::npos);
  std::memcpy(bytes.data() + at + index * sizeof value, &value, sizeof value);
  write_bytes(path, bytes);
}

}  // namespace

TEST_CASE("bad models: cut short, of hostile lengths, of other types, without what they need: exit 4") {
  const TemporaryFolder folder;
  const std::string weights = "/model.safetensors", sound = read_bytes(kModels + "llama/model.safetensors");
  const std::string gguf = read_bytes(kModels + "llama.gguf"), bin = read_bytes(kModels + "llama2c.bin");
  auto with_weights = [&](const std::string& name, const std::string& bytes) {
    const std::string path = folder_of_llama(folder, name);
    write_bytes(path + weights, bytes);
    return path;
  };
  for (std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{500}, sound.size() / 2, sound.size() - 1})
    check_refused_at_once(folder, with_weights("cut" + std::to_string(size), sound.substr(0, size)), 4,
                          {"model.safetensors", "get it again"});
  for (std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{100}, gguf.size() - 1}) {
    write_bytes(folder / "cut.gguf", gguf.substr(0, size));
    check_refused_at_once(folder, folder / "cut.gguf", 4, {"cut.gguf", "GGUF file"});
  }
  write_bytes(folder / "cut.bin", bin.substr(0, bin.size() / 2));
  check_refused_at_once(folder, folder / "cut.bin", 4, {"cut.bin", "llama2.c"});

  const std::string huge("\x00\x00\x00\x00\x00\x00\x00\x40{}", 10);
  check_refused_at_once(folder, with_weights("huge", huge), 4, {"length of the header"});
  write_bytes(folder / "huge.gguf", std::string("GGUF\x03\x00\x00\x00", 8) + std::string(16, '\x7f'));
  check_refused_at_once(folder, folder / "huge.gguf", 4, {"huge.gguf"});
  write_bytes(folder / "huge.bin", std::string(28, '\x7f'));
  check_refused_at_once(folder, folder / "huge.bin", 4, {"huge.bin"});

  const std::string other_type = folder_of_llama(folder, "type");
  replace_in(other_type + weights, "\"F32\"", "\"I32\"");
  check_refused_at_once(folder, other_type, 4, {"of a type that holds such values"});
  const std::string no_type = folder_of_llama(folder, "no_type");
  replace_in(no_type + weights, "\"F32\"", "\"X32\"");
  check_refused_at_once(folder, no_type, 4, {"X32"});
  const std::string missing = folder_of_llama(folder, "missing");
  replace_in(missing + weights, "model.norm.weight", "model.xx.inv_freq");
  check_refused_at_once(folder, missing, 4, {"`norm.weight` is missing"});
  const std::string mamba = folder_of_llama(folder, "mamba");
  replace_in(mamba + "/config.json", "\"model_type\": \"llama\"", "\"model_type\": \"mamba\"");
  check_refused_at_once(folder, mamba, 4, {"architecture `mamba`", "gpt_oss"});
  const std::string no_json = folder_of_llama(folder, "no_json");
  write_bytes(no_json + "/config.json", std::string(1000, '['));
  check_refused_at_once(folder, no_json, 4, {"config.json"});
  const std::string empty_json = folder_of_llama(folder, "empty_json");
  write_bytes(empty_json + "/config.json", "");
  check_refused_at_once(folder, empty_json, 4, {"config.json", "expected a JSON object", "get it again"});
  const std::string no_list = folder_of_llama(folder, "no_list");
  write_bytes(no_list + "/model.safetensors.index.json", "");
  fs::remove(no_list + weights);
  check_refused_at_once(folder, no_list, 4, {"model.safetensors.index.json", "get it again"});
}

TEST_CASE("bad models: GGUF of another architecture, version or type, or without a tensor: exit 4") {
  const TemporaryFolder folder;
  const std::string sound = read_bytes(kModels + "llama.gguf"), path = folder / "bad.gguf";
  auto check_with = [&](const std::string& from, const std::string& to, std::size_t behind, const char* clue) {
    std::string bytes = sound;
    const std::size_t at = bytes.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    write_bytes(path, bytes.replace(at + behind, to.size(), to));
    check_refused_at_once(folder, path, 4, {"bad.gguf", clue});
  };
  const std::string architecture = "general.architecture", norm = "output_norm.weight";
  check_with(architecture, "mamba", architecture.size() + 12, "architecture `mamba`");  // after its type and length
  check_with("GGUF", std::string("\x09\0\0\0", 4), 4, "version 9");
  check_with(norm, "output_nurm.weight", 0, "output_nurm.weight");
  const std::size_t type = norm.size() + 4 + 8;  // after the number of dimensions and the only dimension
  check_with(norm, std::string("\x1a\0\0\0", 4), type, "type 26 (I32)");
  check_with(norm, std::string("\x63\0\0\0", 4), type, "type 99");
}

TEST_CASE("bad models: quantized folders: exit 4 with what they are and what to give instead") {
  const TemporaryFolder folder;
  const std::string instead = "expected the model before it was quantized, or a GGUF file of it";
  int number = 0;
  // With weights of a type that is not read, as most of them have: what config.json says comes first.
  auto refused = [&](const std::string& key, const std::string& object, const std::string& what) {
    const std::string path = folder_of_llama(folder, "config" + std::to_string(++number));
    replace_in(path + "/config.json", "{", "{\"" + key + "\": " + object + ", ");
    replace_in(path + "/model.safetensors", "\"F32\"", "\"F4X\"");
    check_refused_at_once(folder, path, 4,
                          {"config.json: the weights are quantized: " + what + " (`" + key + "`)", instead});
  };
  const std::string key = "quantization_config";
  refused(key, R"({"quant_method": "bitsandbytes", "load_in_4bit": true})", "bitsandbytes with 4 bits");
  refused(key, R"({"load_in_8bit": true})", "bitsandbytes with 8 bits");
  refused(key, R"({"quant_method": "fbgemm_fp8"})", "`fbgemm_fp8`");
  refused("quantization", R"({"group_size": 64, "bits": 4})", "MLX with 4 bits");
  refused(key, R"({"quant_method": "hqq"})", "`hqq`");
  refused(key, R"({"quant_method": ")" + std::string(5000, 'q') + "\"}", "`" + std::string(100, 'q') + "...`");
  for (const char* other : {"{}", "[1]", "\"fp8\"", R"({"quant_method": 4, "bits": 1e300})"})
    refused(key, other, "a type that is not named");

  // config.json is silent, as of older folders.
  const std::string packed = folder_of_llama(folder, "packed");
  replace_in(packed + "/model.safetensors", "\"F32\"", "\"U32\"");
  check_refused_at_once(folder, packed, 4, {"U32", "which is not read"});
  for (const std::string tensor :
       {"q_proj.g_idx", "q_proj.weight_scale_inv", "q_proj.weight.absmax", "q_proj.scales"}) {
    const std::string path = folder / std::to_string(++number);
    copy_renamed("llama", path, [](const std::string& name) { return name; },
                 {{"model.layers.0." + tensor, StoredType::F32, {4}}});
    check_refused_at_once(folder, path, 4, {"no place for the tensor", tensor, "of quantized weights", instead});
  }
}

TEST_CASE("bad models: an index of shards that names itself, what is elsewhere, what is not there") {
  const TemporaryFolder folder;
  auto with_index = [&](const std::string& name, const std::string& shard) {
    const std::string path = folder_of_llama(folder, name);
    fs::rename(path + "/model.safetensors", path + "/one.safetensors");
    write_bytes(path + "/model.safetensors.index.json", "{\"weight_map\": {\"model.norm.weight\": \"" + shard + "\"}}");
    return path;
  };
  check_refused_at_once(folder, with_index("itself", "model.safetensors.index.json"), 4, {"not another index"});
  check_refused_at_once(folder, with_index("above", "../llama/model.safetensors"), 4, {"a plain name"});
  check_refused_at_once(folder, with_index("nowhere", "two.safetensors"), 3, {"two.safetensors", "cannot open"});
  check_refused_at_once(folder, with_index("more", "one.safetensors"), 4, {"one.safetensors"});
}

TEST_CASE("bad models: what is no file is not waited for: exit 3") {
  const TemporaryFolder folder;
  check_refused_at_once(folder, folder / "nothing.gguf", 3, {"nothing.gguf", "No such file"});
  fs::create_directory(folder / "empty");
  check_refused_at_once(folder, folder / "empty", 3, {"a folder without config.json", "safetensors"});
  check_refused_at_once(folder, kModels + "llama/model.safetensors", 3, {"holds only weights", "config.json"});
  fs::create_directory(folder / "folder.gguf");
  check_refused_at_once(folder, folder / "folder.gguf", 3, {"a folder without config.json"});
  for (const char* device : {"/dev/zero", "/dev/null"}) check_refused_at_once(folder, device, 3, {"is not a file"});
  for (const std::string pipe : {"pipe", "pipe.gguf", "pipe.bin"}) {
    REQUIRE(::mkfifo((folder / pipe).c_str(), 0600) == 0);
    check_refused_at_once(folder, folder / pipe, 3, {"is not a file"});
  }
  for (const std::string inside : {"/config.json", "/model.safetensors"}) {
    const std::string path = folder_of_llama(folder, "with" + inside.substr(1));
    fs::remove(path + inside);
    REQUIRE(::mkfifo((path + inside).c_str(), 0600) == 0);
    check_refused_at_once(folder, path, 3, {inside, "is not a file"});
    fs::remove(path + inside);
    fs::create_directory(path + inside);
    check_refused_at_once(folder, path, 3, {inside});
  }
  const std::string merges = folder_of_llama(folder, "merges");
  write_bytes(merges + "/vocab.json", "{\"a\": 0}");
  REQUIRE(::mkfifo((merges + "/merges.txt").c_str(), 0600) == 0);
  check_refused_by(folder, "sink MODEL --text a", merges, 2, {"merges.txt is not a regular file"});
}

TEST_CASE("bad models: a weight that is NaN or infinite: exit 4 of every command, with the tensor and the element") {
  const TemporaryFolder folder;
  const std::string nan = folder_of_llama(folder, "nan"), infinite = folder / "infinite.gguf";
  put_into(nan + "/model.safetensors", "model.layers.1.self_attn.k_proj.weight", 5 * 32 + 7, NAN);
  write_bytes(infinite, read_bytes(kModels + "llama.gguf"));
  put_into(infinite, "blk.0.attn_norm.weight", 31, -INFINITY);
  write_bytes(folder / "tokens", "1 2 3 4 5 6 7 8\n");
  write_bytes(folder / "items", "{\"context\": \"a\", \"continuation\": \"b\"}\n");
  const std::string tokens = " --tokens " + (folder / "tokens") + " ", out = folder / "out";
  for (const std::string& command : std::vector<std::string>{
           "sink MODEL --input random --sequences 1 --context 8", "sink MODEL --precision f64" + tokens,
           "sink MODEL --precision bf16" + tokens, "logits --model MODEL --out " + out + tokens,
           "interventions MODEL" + tokens, "quantise MODEL" + tokens, "generate MODEL --text a", "chat MODEL",
           "stream MODEL" + tokens, "score MODEL " + (folder / "items"), "explain --checkpoint MODEL" + tokens,
           "import MODEL " + out, "export MODEL " + out}) {
    if (!in_turn()) continue;
    check_refused_by(folder, command, nan, 4,
                     {"model.safetensors", "`model.layers.1.self_attn.k_proj.weight`", "is NaN at (5, 7)", "finite"});
    check_refused_by(folder, command, infinite, 4,
                     {"infinite.gguf", "`blk.0.attn_norm.weight`", "is infinite at (31)"});
    CHECK_FALSE(fs::exists(out));
  }
}

TEST_CASE("bad models: a text of any length in config.json is cut in messages, and no character is split") {
  const TemporaryFolder folder;
  const std::string model = folder_of_llama(folder, "long"), file = model + "/config.json";
  const std::string sound = read_bytes(file);
  for (std::size_t before : {0, 1, 2}) {
    std::string text(before, 'x');
    for (int i = 0; i < 100000; ++i) text += "\u20ac";
    for (const std::string& key :
         {"\"hidden_act\": \"" + text + "\"", "\"" + text + "\": 1",
          "\"model_type\": \"mistral\", \"architectures\": null, \"layer_types\": [\"" + text + "\", \"" + text + "\"]",
          "\"rope_parameters\": {\"rope_type\": \"" + text + "\"}", "\"architectures\": [\"" + text + "\"]",
          "\"model_type\": \"" + text + "\"", "\"auto_map\": {\"AutoConfig\": \"" + text + "\"}",
          "\"quantization_config\": {\"quant_method\": \"" + text + "\"}"}) {
      if (!in_turn()) continue;
      nlohmann::json json = nlohmann::json::parse(sound);
      for (const char* name : {"mlp_bias", "attention_bias", "pretraining_tp"}) json.erase(name);
      json.update(nlohmann::json::parse("{" + key + "}"));
      write_bytes(file, json.dump());
      CAPTURE(key.substr(0, 40));
      std::string message;
      CHECK(exit_of([&] { open_model(model); }, &message) == Exit::corrupt_checkpoint);
      CHECK_MESSAGE(contains(message, "\u20ac"), message.substr(0, 1000));
      CHECK_MESSAGE(message.size() < 1500, message.substr(0, 1000));
      CHECK_MESSAGE(utf8_valid_prefix(message) == message.size(), message.substr(0, 1000));
      CHECK_MESSAGE(!contains(message, "\\x"), message.substr(0, 1000));
    }
  }
}

TEST_CASE("bad models: a download that failed is recognised under any name, with what to do") {
  const TemporaryFolder folder;
  const std::pair<std::string, const char*> failures[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:01\nsize 2\n", "is a pointer of Git LFS, not the file "},
      {"<!DOCTYPE html>\n<html></html>\n", "is a page of HTML or XML, not the file itself: download"},
      {"\xEF\xBB\xBF\n <HTML lang=\"en\">\n", "is a page of HTML or XML"},
      {"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>", "is a page of HTML or XML"}};
  for (const auto& [bytes, clue] : failures)
    for (const std::string name :
         {"config.json", "model.safetensors", "model.safetensors.index.json", "generation_config.json",
          "tokenizer.json", "x.gguf", "x.bin", "x.h5", "x", "x.safetensors", "x.json", "x.pt"}) {
      if (!in_turn()) continue;
      if (name.starts_with("x")) {
        write_bytes(folder / name, bytes);
        check_refused_at_once(folder, folder / name, 4, {name, clue});
        continue;
      }
      const std::string model = folder_of_llama(folder, "llama");
      if (name.starts_with("model.")) fs::remove(model + "/model.safetensors");
      write_bytes(model + "/" + name, bytes);
      if (name == "tokenizer.json" || name == "generation_config.json")
        check_refused_by(folder, "sink MODEL --text a", model, name == "tokenizer.json" ? 2 : 4, {name, clue});
      else
        check_refused_at_once(folder, model, 4, {name, clue});
      fs::remove_all(model);
    }
  for (const char* text : {"Entry not found", "Invalid username or password."}) {
    write_bytes(folder / "x.gguf", text);
    check_refused_at_once(folder, folder / "x.gguf", 4,
                          {"x.gguf holds only the text `" + std::string(text) + "`: download the file itself again"});
  }
}

TEST_CASE("bad models: a tokenizer that is damaged or not supported: a text is refused, ids are taken") {
  const TemporaryFolder folder;
  const std::string path = folder_of_llama(folder, "merges");
  const std::string start = "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, \"model\": ";
  write_bytes(folder / "tokens", "1 0 1\n");
  write_bytes(folder / "lines", "{\"context\": \"a\", \"continuation\": \"b\"}\n");
  auto check = [&](const std::string& clue) {
    CAPTURE(clue);
    for (const std::string& command : {std::string("generate MODEL --text a"), std::string("sink MODEL --text a"),
                                       "score MODEL " + (folder / "lines")})
      if (in_turn()) check_refused_by(folder, command, path, 2, {"its tokenizer cannot be used", clue});
    for (const std::string& command :
         {"sink " + path + " --input random --sequences 1 --context 8",
          "sink " + path + " --tokens " + (folder / "tokens"), "attention " + path + " --tokens " + (folder / "tokens"),
          "generate " + path + " --max-new-tokens 1 --tokens " + (folder / "tokens"),
          "logits " + path + " --force --out " + (folder / "out.h5") + " --tokens " + (folder / "tokens")}) {
      if (!in_turn()) continue;
      Subprocess program(folder, words_of("eval_baseline " + command));
      CHECK_MESSAGE(program.wait() == 0, program.err());
    }
  };
  const std::string tokenizer = path + "/tokenizer.json";
  write_bytes(tokenizer,
              start + "{\"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"ab\": 3}, \"merges\": [[\"a\", \"b\", \"c\"]]}}");
  check("[\"a\",\"b\",\"c\"]; expected two parts");
  write_bytes(tokenizer, start + "{\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]]}}");
  check("tokenizer.json");
  write_bytes(tokenizer, "{");
  check("tokenizer.json");
  const std::string of_bytes = "{\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": []}";
  // That of Falcon.
  write_bytes(tokenizer, "{\"pre_tokenizer\": {\"type\": \"Punctuation\", \"behavior\": \"Contiguous\"}, \"model\": " +
                             of_bytes + "}");
  check("the pre-tokenizer {\"behavior\":\"Contiguous\",\"type\":\"Punctuation\"} is not supported");
  write_bytes(tokenizer, start + of_bytes + "}");
  write_bytes(path + "/tokenizer_config.json", "{\"pad_token\": \"<pad>\"}");
  check("the token `<pad>`");
  fs::remove(path + "/tokenizer_config.json");
  fs::remove(tokenizer);
  fs::create_directory(tokenizer);
  check("is not a file");
  fs::remove(tokenizer);
  REQUIRE(::mkfifo(tokenizer.c_str(), 0600) == 0);  // which is not waited for
  check("is not a file");
}

TEST_CASE("bad models: a template with several tokens, or one after the text: a text is refused, ids are taken") {
  const TemporaryFolder folder;
  const std::string path = folder_of_llama(folder, "template");
  const std::string begin = "{\"SpecialToken\": {\"id\": \"a\"}}", text = "{\"Sequence\": {\"id\": \"A\"}}";
  auto with_template = [&](const std::string& parts) {
    write_bytes(path + "/tokenizer.json",
                "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, \"model\": {\"vocab\": "
                "{\"a\": 0, \"b\": 1}, \"merges\": []}, \"post_processor\": {\"type\": \"TemplateProcessing\", "
                "\"single\": [" +
                    parts + "], \"special_tokens\": {\"a\": {\"ids\": [0]}}}}");
  };
  for (const auto& [parts, count] :
       {std::pair{begin + "," + begin + "," + text, "2 tokens"}, {text + "," + begin, "1 token"}}) {
    with_template(parts);
    for (const std::string command : {"sink MODEL --text bab", "generate MODEL --text bab", "tokens MODEL --text bab"})
      check_refused_by(folder, command, path, 2, {std::string(count) + " around a text", "--tokens"});
  }
  write_bytes(folder / "tokens", "1 0 1\n");
  write_bytes(folder / "lines", "{\"context\": \"a\", \"continuation\": \"b\"}\n");
  check_refused_by(folder, "score MODEL " + (folder / "lines"), path, 2, {"1 token around a text"});
  for (const std::string& command : {"sink " + path + " --tokens " + (folder / "tokens"),
                                     "generate " + path + " --max-new-tokens 1 --tokens " + (folder / "tokens")}) {
    Subprocess program(folder, words_of("eval_baseline " + command));
    CHECK_MESSAGE(program.wait() == 0, program.err());
  }
  with_template(begin + "," + text);
  Subprocess program(folder, words_of("eval_baseline tokens " + path + " --text bab"));
  CHECK_MESSAGE(program.wait() == 0, program.err());
  CHECK(program.out() == "0 1 0 1\n");
}
