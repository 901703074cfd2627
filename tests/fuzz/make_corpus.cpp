// make_corpus FOLDER INPUTS: writes the inputs that fuzzing begins with, a folder a target: small sound files, every
// broken file that a reader once accepted, crashed on or took long for, and what fuzz_long.py kept in INPUTS.
#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>

#include "engine/data/token_writer.h"
#include "engine/data/tokenizer/scored_vocabulary.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "engine/io/checkpoint.h"
#include "engine/io/hdf5_file.h"
#include "engine/io/hdf5_index.h"
#include "tests/support/packed.h"
#include "tests/support/raw_hdf5.h"
#include "tests/support/weight_bytes.h"
#include "train/run_config.h"

using namespace sink;

namespace {

namespace fs = std::filesystem;
fs::path root;

void put(const std::string& target, const std::string& name, const std::string& bytes) {
  fs::create_directories(root / target);
  std::ofstream(root / target / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string times(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

// Vocabularies of llama2.c and of GGUF (tests/fuzz/scored_vocabulary_fuzz.cpp), and tokenizer.json files made of them.
void tokenizers_of_characters() {
  std::string bin(4, '\0'), values = "x";
  bin[0] = 7;
  auto add = [&](const std::string& token, float score, char type) {
    auto length = static_cast<std::int32_t>(token.size());
    bin.append(reinterpret_cast<const char*>(&score), 4).append(reinterpret_cast<const char*>(&length), 4);
    bin += token;
    values += type + token + "\n";
  };
  for (const char* special : {"<unk>", "\n<s>\n", "\n</s>\n"}) add(special, 0, 3);
  for (int byte = 0; byte < 256; ++byte) {
    char name[7];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    add(name, 0, 6);
  }
  float score = 0;
  for (const char* token :
       {"he", "the", " the", "th", " t", "er", "other", "ot", "  ", "t", "h", "e", "o", "r", " ", "\u4e2d"})
    add(token, score--, 1);
  put("scored_vocabulary", "llama2c", '\0' + bin);
  put("scored_vocabulary", "truncated", '\0' + bin.substr(0, 3000));
  std::string large = bin;
  large.replace(8, 4, "\xff\xff\xff\x7f");
  put("scored_vocabulary", "large", '\0' + large);
  put("scored_vocabulary", "gguf", std::string("\1") + '\x30' + values);
  put("scored_vocabulary", "gguf_bytes",
      std::string("\1") + "\x01\x02" + "\1t\n\1h\n\1th\n\1e\n\1\u0120\n\1the\n\3<s>\n\4e\u0301\nmt h\nmth e\n");
  put("scored_vocabulary", "unknown_named_like_a_byte", std::string("\1\x0a\1") + "\1e\n\2<0x3C>\n\6<0x35>\n");
  put("scored_vocabulary", "byte_in_lower_case", std::string("\1\x0a\1") + "\6<0x3c>\n\6<0x35>\n");
  BpeModel model = read_llama2c_vocabulary(bin, "bin");
  put("tokenizer_json", "characters", to_tokenizer_json(model));
  model.prepends = model.replaces_spaces = false;
  model.metaspace = model.words = model.whole_pieces = model.strips_first_token = true;
  model.prefix_space = PrefixSpace::first;
  model.cuts = {Cut::digit_runs};
  put("tokenizer_json", "metaspace", to_tokenizer_json(model));
  model.metaspace = model.words = model.strips_first_token = model.decodes_bytes = false;
  model.prefix_space = PrefixSpace::never;
  model.replaces_spaces = true;
  model.id_of_byte['a'] = BpeModel::kNone;
  model.cuts = {Cut::after_space, Cut::o200k_words, Cut::sign_runs};
  put("tokenizer_json", "gemma", to_tokenizer_json(model));
}

// HDF5 files of other writers, as the bytes after a user block of `user_block_bytes`.
std::string raw(std::size_t user_block_bytes, const std::function<void(RawHdf5&)>& fill) {
  fs::path path = root / "raw.h5";
  {
    RawHdf5 file(path.string(), user_block_bytes);
    fill(file);
  }
  std::string bytes = bytes_of(path).substr(user_block_bytes);
  fs::remove(path);
  return bytes;
}

void checkpoints() {
  const float four[] = {1, 2, 3, 4};
  Checkpoint sound;
  sound.attributes = {{"ablation", "baseline"}, {"layers", "1"}};
  sound.tensors = {{"parameters/a", Tensor::full({2, 3}, 0.5)}, {"parameters/b.c", Tensor::full({4}, 1)}};
  sound.axes = {{"parameters/a", "V C"}};
  save_checkpoint((root / "sound.h5").string(), sound);
  std::string whole = bytes_of(root / "sound.h5");
  fs::remove(root / "sound.h5");
  put("checkpoint", "sound", '\0' + whole.substr(kChecksumHeaderBytes));
  put("checkpoint", "sealed", '\1' + whole);
  put("checkpoint", "truncated", '\1' + whole.substr(0, 700));
  put("checkpoint", "empty", "\1");
  auto add = [&](const std::string& name, const std::function<void(RawHdf5&)>& fill) {
    std::string bytes = raw(kChecksumHeaderBytes, [&](RawHdf5& file) {
      file.attribute("format", "sinklab-checkpoint");
      fill(file);
    });
    put("checkpoint", name, '\0' + bytes);
  };
  add("h5py", [&](RawHdf5& file) { file.floats("parameters/a", 4, four); });
  add("sizes", [&](RawHdf5& file) {
    for (const char* name : {"heads", "context", "layers", "width"}) file.attribute(name, "0");
    file.attribute("vocabulary", "-1000000000");
    file.attribute("feed_forward", "99999999999999999999");
  });
  add("external_storage", [](RawHdf5& file) { file.outside("texts/config_toml", H5T_C_S1, 1, "/etc/hostname", 1); });
  add("external_link", [](RawHdf5& file) { file.external_link("parameters", "/tmp/other.h5", "/parameters"); });
  add("soft_link", [](RawHdf5& file) { file.soft_link("a", "/b"); });
  add("view", [](RawHdf5& file) { file.view("v", "/tmp/other.h5", "/a"); });
  add("group_in_itself", [](RawHdf5& file) { file.hard_link("self", "/"); });
  add("deep", [](RawHdf5& file) { file.groups_in_groups(40); });
  add("unallocated", [](RawHdf5& file) {
    for (int i = 0; i < 20; ++i) file.floats(std::to_string(i), 1 << 20, nullptr);
  });
  add("shared", [&](RawHdf5& file) {
    file.floats("a", 4, four);
    file.hard_link("b", "a");
  });
  add("nan", [&](RawHdf5& file) {
    float nan = std::numeric_limits<float>::quiet_NaN();
    file.floats("a", 1, &nan);
  });
}

void tokens() {
  for (std::int64_t vocabulary : {300, 70000}) {
    TokenWriter sound((root / "tokens.h5").string(), vocabulary);
    std::vector<std::int32_t> ids(150);
    std::iota(ids.begin(), ids.end(), 0);
    sound.begin_domain("a", 0.25);
    sound.add_document(ids, false);
    sound.begin_domain("b", 0.75);
    sound.add_document(ids, true);
    sound.close(
        {.end_of_text = 0, .begin_token = vocabulary == 300 ? 1 : -1, .sources = "a.txt 17\n", .tokenizer_sha256 = ""});
    sound.commit();
    std::string whole = bytes_of(root / "tokens.h5"), name = vocabulary == 300 ? "narrow" : "wide";
    fs::remove(root / "tokens.h5");
    put("token_file", name, '\0' + whole.substr(kChecksumHeaderBytes));
    put("token_file", name + "_of_version_1", '\2' + whole.substr(kChecksumHeaderBytes));
    put("token_file", name + "_sealed", '\1' + whole);
  }
  TokenWriter chat((root / "tokens.h5").string(), 300, /*with_marks=*/true);
  std::vector<std::int32_t> answer(37, 5), marks(37, 1);
  chat.begin_domain("chat", 0);
  chat.add_document(answer, false, marks);
  chat.add_document(answer, true, marks);
  chat.close({});
  chat.commit();
  std::string marked = bytes_of(root / "tokens.h5").substr(kChecksumHeaderBytes);
  fs::remove(root / "tokens.h5");
  put("token_file", "marked", '\4' + marked);
  put("token_file", "marked_cut", '\4' + marked.substr(0, marked.size() - 1));
  const std::int64_t ids[] = {1, 2, 3, (std::int64_t{1} << 32) + 1};
  auto wide = [&](hsize_t vocabulary_digits) {
    return raw(kChecksumHeaderBytes, [&](RawHdf5& file) {
      file.attribute("vocabulary", std::string(vocabulary_digits, '9'));
      file.dataset("train", H5T_STD_I64LE, {4}, H5T_NATIVE_INT64, ids);
      file.dataset("valid", H5T_STD_U16BE, {3}, H5T_NATIVE_INT64, ids);
    });
  };
  put("token_file", "too_wide", '\0' + wide(3));
  put("token_file", "vocabulary", '\0' + wide(30));

  put("scored_items", "pair", "{\"context\": \"a\", \"continuation\": \" b\"}\n");
  put("scored_items", "choices", "{\"query\": \"q\", \"choices\": [\"a\", \"b\"], \"gold\": 1}\n");
  put("scored_items", "text", "{\"text\": \"one two\"}\n");
  put("scored_items", "blank",
      "{\"sentence\": \"The _ is.\", \"option1\": \"a\", \"option2\": \"b\", \"answer\": \"2\"}\n");
  put("token_sequences", "text", "1 2 3\n4,5,6\n\n7\t8 9\r\n");
  put("token_sequences", "too_large", "1 2 4294967298\n");
  put("token_sequences", "ragged", "1 2 3\n4 5\n");
  put("token_sequences", "words", "one two\n");
  put("token_sequences", "hdf5", raw(0, [&](RawHdf5& file) {
        file.dataset("tokens", H5T_STD_I32LE, {1, 3}, H5T_NATIVE_INT64, ids);
      }));
  put("token_sequences", "hdf5_too_large", raw(0, [&](RawHdf5& file) {
        file.dataset("tokens", H5T_STD_I64LE, {2, 2}, H5T_NATIVE_INT64, ids);
      }));
  put("token_sequences", "hdf5_external",
      raw(0, [&](RawHdf5& file) { file.external_link("tokens", "/tmp/other.h5", "/tokens"); }));
}

void indices() {
  Hdf5Dataset a;
  a.path = "a";
  a.kind = Hdf5Kind::real;
  a.element_bytes = 4;
  a.shape = {10, 10};
  a.offset = 600;
  Hdf5Dataset b = a;
  b.path = "b";
  b.offset = 1000;
  put("hdf5_index", "sound", encode_hdf5_index({{{"name", "text", ""}}, {a, b}}));
  b.offset = 999;
  put("hdf5_index", "overlap", encode_hdf5_index({{}, {a, b}}));
  b.shape = {std::int64_t{1} << 62, std::int64_t{1} << 62};
  put("hdf5_index", "huge", encode_hdf5_index({{}, {a, b}}));
}

void texts() {
  std::string text = times(30, "the cat sat on the mat, the dog did not. ") + "\n<|endoftext|>\n";
  put("text", "words", '\0' + text + text);
  put("text", "runs", '\0' + times(500, "-") + times(500, "aaaab") + times(300, " \n"));
  put("text", "unicode", '\0' + times(100, "\u00e9t\u00e9 \u65e5\u672c \U0001f642 \u0661\u0662 don't\u2003x"));
  put("text", "binary", '\0' + std::string(2000, '\0'));
  put("text", "not_utf8", '\0' + text + "\xc3");
  put("text", "marks", '\0' + times(100, "<|endoftext|>\n"));
  put("text", "jsonl", "\1{\"text\": \"caf\\u00e9\\n\", \"meta\": {\"a\": [1, null]}}\n\n{\"text\": \"two\"}\r\n");
  put("text", "jsonl_deep", "\1{\"text\": " + times(70, "[") + times(70, "]") + "}\n");
  put("text", "jsonl_cut", "\1{\"text\": \"a");
  const std::string chat =
      R"({"messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b\u00e9"},
         {"role": "assistant", "content": "<|endoftext|>c"}]})";
  put("chat", "messages", '\0' + chat.substr(0, chat.find('\n')) + chat.substr(chat.find('\n') + 1) + "\n\n");
  put("chat", "share_gpt",
      "\1{\"conversations\": [{\"from\": \"human\", \"value\": \"\"}, "
      "{\"from\": \"gpt\", \"value\": \"two\"}]}\r\n");
  put("chat", "no_turns", "\2{\"messages\": [], \"conversations\": 1}\n{\"messages\": [[]]}");
  put("chat", "roles", "\2{\"messages\": [{\"role\": \"\", \"content\": \"a\"}]}\n");
  put("chat", "deep", "\1{\"messages\": " + times(70, "[") + times(70, "]") + "}\n");
  put("packed_text", "gzip", gzipped(text));
  put("packed_text", "members", gzipped(text) + gzipped("") + gzipped("x"));
  put("packed_text", "zstd", zstd_packed(text));
  put("packed_text", "frames", zstd_packed(text) + zstd_packed("x"));
  put("packed_text", "skippable", std::string("\x50\x2a\x4d\x18\x02\0\0\0xx", 10) + zstd_packed(text));
  put("packed_text", "cut", gzipped(text).substr(0, 40));
  put("packed_text", "gzip_bomb", gzipped(std::string(std::size_t{1} << 25, 'a')));
  put("packed_text", "zstd_bomb", zstd_packed(std::string(std::size_t{1} << 25, 'a')));
  put("packed_text", "plain", text);
  std::string json = Tokenizer::train({text}, 270).json();
  put("tokenizer_json", "sound", json);
  put("tokenizer_json", "truncated", json.substr(0, json.size() / 2));
  put("tokenizer_json", "deep", times(100000, "["));
  put("tokenizer_json", "deep_normalizer",
      R"({"model": {"type": "BPE"}, "pre_tokenizer": {"type": "ByteLevel"}, "normalizer": )" + times(5000, "[") +
          times(5000, "]") + "}");
  std::string large_id = json;
  large_id.replace(large_id.find(": 3,"), 4, ": 4294967299,");
  put("tokenizer_json", "large_id", large_id);
  BpeModel model = parse_tokenizer_json(json, "json");
  model.nfc = model.fuse_unknown = model.added[0].takes_right = true;
  model.unknown = 5;
  model.before = {0};
  put("tokenizer_json", "composed", to_tokenizer_json(model));
  model.cuts = {Cut::each_digit};
  model.prefix_space = PrefixSpace::always;
  model.added[1].takes_left = model.added[1].single_word = model.added[1].normalized = true;
  put("tokenizer_json", "digits", to_tokenizer_json(model));
  model.cuts = {Cut::llama3_words};
  model.words = false;
  model.whole_pieces = true;
  model.after = {1, 0};
  put("tokenizer_json", "llama3", to_tokenizer_json(model));
  tokenizers_of_characters();

  put("run_config", "sound", to_toml(RunConfig{}));
  put("run_config", "mark", "\xEF\xBB\xBFwidth = 256\n");
  put("run_config", "section", "[" + times(2000, "a.") + "a]\n");
  put("run_config", "dots", times(2000, "a.") + "a = 1\n");
  put("run_config", "values", "layers = -1\nheads = 1e9\nseed = 18446744073709551616\nlearning_rate = nan\n");
  const std::string head = "name = \"a\"\nquestion = \"b\"\nbaseline = \"c\"\nseeds = [1, 2]\n";
  put("study_file", "sound",
      head +
          "[settings]\nheads = 2\n[cpu]\nwidth = 64\n[[runs]]\nablation = [\"baseline\",\n \"bias_k\"] # two\n"
          "weight-decay = [0, 0.1]\nstudy = [\"\", \"\", \"\", \"opt-wd0\"]\nsize = \"cpu\"\n" +
          std::string(1, '\0') + "[gpu]\nlayers = 10\n");
  put("study_file", "nested", head + "[[runs]]\nablation = " + times(2000, "[") + "\n");
  put("study_file", "texts", head + "[[runs]]\nablation = [\"\"\"a\", 'b]', \"c\\\"]\"]\n[[runs]]\n[runs]\n");
  put("study_file", "product", head + times(20, "[[runs]]\nablation = [1,1,1,1,1,1,1,1]\nheads = [1,2,4,8]\n"));
  put("study_file", "from", head + "[[runs]]\nablation = \"c\"\n[[runs]]\nfrom = [\"c\", \"c\"]\nsteps = [1, 2]\n");
  const std::string mask = "[[interventions]]\nname = \"a\"\nwhat = \"mask\"\n";
  put("intervention_file", "sound",
      mask +
          "tokens = [1, 2]\nlayers = 0\nper-head = true\n[[interventions]]\nname = \"b\"\nwhat = \"key\"\n"
          "scale = 0.5\nalong = -2\n[[interventions]]\nname = \"c\"\nwhat = \"clip\"\nmedians = 100\n"
          "[[interventions]]\nname = \"d\"\nwhat = \"value\"\nvalue = \"mean\"\nheads = [1,\n3]\n"
          "[[interventions]]\nname = \"e\"\nwhat = \"quantise\"\nweight-bits = 4\ninput_bits = 8\n"
          "weights-per = \"tensor\"\ninputs-per = \"token\"\ninputs = \"sublayers\"\n");
  put("intervention_file", "many", times(1100, mask));
  put("intervention_file", "numbers", mask + "tokens = [" + times(1100, "1,") + "1]\n");
  put("intervention_file", "range", mask + "tokens = [9223372036854775808]\nheads = [-0x1]\n");
  put("run_config", "list", "layers = [1,\n2,\n3]\ndata = \"a\nb\"\n");

  const std::string columns = "run,task,ablation,finished,measured_step,steps,step,seed,val_loss,sink_1,sink_1_raw";
  put("results_csv", "sound",
      columns +
          ",extra,sink_star,sink_star_raw,sink_2,sink_3,sink_1_eps0.2,sink_1_raw_eps0.2,sink_1_eps0.3,"
          "learning_rate,data,heads,seconds,failure,label\n"
          "a,text,baseline,true,9,9,9,1,2.5,50,40,key,10,9,1,0.5,60,45,50,1e-3,\"a,\"\"b\"\"\",8,7.5,,x\n"
          "b,text,bias_k,false,,9,3,2,,,,,,,,,,,,0.1,'=a,4,,the loss was not finite,\r\n");
  put("results_csv", "quotes", columns + "\n\"a\n\"\"\",\"");
  put("results_csv", "columns", columns + times(2000, ",sink_1_eps1") + "\n");
  put("results_csv", "numbers", columns + "\na,text,b,true,1,1,1,18446744073709551616,1e999,nan,-1\n");
  std::string evaluation =
      R"({"schema": 1, "run": "r", "task": "text", "step": 3, "val_loss": 2.5, "alpha_1": "nan", "epsilon": [0.3],
          "sink_1": [1.5], "alpha_1_layer_head": [[0.5, 0.25]],
          "map": {"layer": 0, "head": 1, "tokens": ["a", "b"], "weights": [[1, 0], [0.5, 0.5]]}})";
  std::string metrics = "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": \"nan\", \"skipped\": true}\n";
  std::string zero(1, '\0');
  put("run_folder", "sound", evaluation + zero + metrics + zero + to_toml(RunConfig{}));
  const std::string change = R"({"step": 3, "interventions": [{"name": "removed 1", "change": 0.1}, {"name": "W4A4", )";
  put("run_folder", "interventions", evaluation + zero + zero + zero + change + R"("change": "nan"}]})");
  put("run_folder", "interventions_wrong", evaluation + zero + zero + zero + change + R"("change": []}, 3]})");
  put("run_folder", "in_progress", zero + metrics + "{\"step\": 3" + zero + "task = \"text\"\nseed = 1\n");
  put("run_folder", "long_key", zero + "{\"step\": 1, \"" + times(10000, "k") + "\": \"x\"}\n");
  put("run_folder", "deep", times(100000, "[") + zero + times(100000, "{\"a\":") + "\n" + zero + "x");
  std::string maps =
      R"({"schema": 1, "alpha_1": 0.5, "sink_epsilon": [0.3], "sink_1": [50], "sink_1_raw": [50], "extra": "key",
          "sink_star": [25], "sink_star_raw": [25], "alpha_star": 0.3, "alpha_star_raw": 0.3, "extra_key_mass": 0.3,
          "input": "random", "input_seed": 3, "maps": {"layers": 1, "heads": 2, "extra_key": true,
          "tokens": [["a", "b"]], "weights": [[[[[0.5, 0.5, 0], [0.2, 0.3, 0.5]], []]]],
          "chosen": {"sequence": 0, "layer": 0, "head": 0}}})";
  put("run_folder", "maps", maps + zero + metrics + zero + "ablation = \"bias_k\"\nseed = 1\n");
  std::string log;
  for (int step = 1; step <= 4; ++step)
    log += "{\"step\": " + std::to_string(step) + ", \"tokens\": 64, \"seconds\": 0.5, \"train_loss\": 2.5}\n";
  put("run_log", "sound", log);
  put("run_log", "twice", log + log);
  put("run_log", "damaged", log.substr(0, 70) + "\n" + log.substr(80) + times(1000, "["));
  put("run_log", "far",
      R"({"step": 9223372036854775807, "tokens": 1, "seconds": 1})"
      "\n");
  std::string keys;
  for (int i = 0; i < 300; ++i) keys += "{\"step\": " + std::to_string(i) + ", \"k" + std::to_string(i) + "\": 1}\n";
  put("run_folder", "keys", zero + keys + zero + "seed = 99999999999999999999\n");
  put("run_folder", "numbers", R"({"schema": 1, "step": 18446744073709551615, "epsilon": [[]], "map": []})");
}

void weights() {
  put("gguf", "sound", small_gguf().bytes());
  GgufBytes aligned = small_gguf();
  aligned.version = 2;
  aligned.entry("general.alignment", raw_u32(4) + raw_u32(64));
  aligned.tensor("k", {256}, 14, 64);
  aligned.numbers.resize(64 + 210, '\1');
  put("gguf", "aligned", aligned.bytes());
  const std::uint32_t types[] = {0, 1, 2, 3, 6, 7, 8, 10, 11, 12, 13, 14, 20, 23, 30, 39};
  GgufBytes all;
  for (std::uint32_t type : types) {
    all.tensor("t" + std::to_string(type), {256}, type, all.numbers.size());
    all.numbers.resize(all.numbers.size() + 1024, static_cast<char>(type));
  }
  put("gguf", "types", all.bytes());
  GgufBytes deep;
  deep.entry("deep", raw_u32(9) + times(9, raw_u32(9) + raw_u64(1)));
  put("gguf", "deep", deep.bytes());
  put("llama2c", "shared", small_llama2c(true));
  put("llama2c", "not_shared", small_llama2c(false));
  put("safetensors", "sound", small_safetensors());
  put("safetensors", "header", small_safetensors_header());
  put("safetensors", "deep", safetensors_bytes("{\"a\":" + times(1000, "["), ""));
  put("safetensors", "types",
      R"({"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[0,3],"data_offsets":[8,8]},)"
      R"("c":{"dtype":"BOOL","shape":[1,1,1,1,2],"data_offsets":[8,10]},)"
      R"("d":{"dtype":"I64","shape":[1],"data_offsets":[10,18]}})");
  // As many tensors as name the kind in safetensors_fuzz.cpp.
  auto of_kind = [&](const char* kind, std::initializer_list<std::pair<const char*, const char*>> tensors) {
    std::string header;
    std::size_t at = 0;
    for (auto [name, about] : tensors) {  // "I32 [8,8] 256"
      const std::string text = about, type = text.substr(0, text.find(' ')), bytes = text.substr(text.rfind(' ') + 1);
      const std::string shape = text.substr(type.size() + 1, text.size() - type.size() - bytes.size() - 2);
      const std::size_t end = at + std::stoul(bytes);
      header += std::string(header.empty() ? "{" : ",") + "\"" + name + "\":{\"dtype\":\"" + type +
                "\",\"shape\":" + shape + ",\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(end) + "]}";
      at = end;
    }
    put("safetensors", kind, header + "}");
  };
  of_kind("mxfp4", {{"a_blocks", "U8 [2,2,16] 64"},
                    {"a_scales", "U8 [2,2] 4"},
                    {"b", "U8 [1] 1"},
                    {"c", "U8 [1] 1"},
                    {"d", "U8 [1] 1"}});
  of_kind("fp8", {{"a.weight", "F8_E4M3 [4,32] 128"},
                  {"a.weight_scale_inv", "F32 [2,1] 8"},
                  {"b", "U8 [1] 1"},
                  {"c", "U8 [1] 1"},
                  {"d", "U8 [1] 1"},
                  {"e", "U8 [1] 1"}});
  of_kind("gptq", {{"a.qweight", "I32 [4,8] 128"},
                   {"a.qzeros", "I32 [1,1] 4"},
                   {"a.scales", "F16 [1,8] 16"},
                   {"b", "U8 [1] 1"},
                   {"c", "U8 [1] 1"},
                   {"d", "U8 [1] 1"},
                   {"e", "U8 [1] 1"}});
  of_kind("awq", {{"a.qweight", "I32 [32,1] 128"}, {"a.qzeros", "I32 [1,1] 4"}, {"a.scales", "F16 [1,8] 16"}});
  of_kind("packed", {{"a.weight_packed", "I32 [2,4] 32"},
                     {"a.weight_scale", "BF16 [2,1] 4"},
                     {"a.weight_shape", "I64 [2] 16"},
                     {"b", "U8 [1] 1"}});
  put("open_config", "gguf", small_gguf().bytes());
  GgufBytes llama3;
  llama3.entry("general.architecture", raw_u32(8) + gguf_text("llama"));
  for (auto [key, value] : {std::pair{"block_count", 2u},
                            {"attention.head_count", 2u},
                            {"embedding_length", 16u},
                            {"feed_forward_length", 8u},
                            {"context_length", 64u}})
    llama3.entry(std::string("llama.") + key, raw_u32(4) + raw_u32(value));
  llama3.entry("llama.rope.freq_base", raw_u32(6) + raw_floats({50}));
  llama3.tensor("token_embd.weight", {16, 1}, 0, 0);
  llama3.tensor("rope_freqs.weight", {4}, 0, 64);
  llama3.numbers = std::string(64, '\0') + raw_floats({1.7359413f, 8, 8, 8});
  put("open_config", "gguf_llama3", llama3.bytes());
  put("open_config", "model_type_of_12000_bytes", R"({"model_type":")" + std::string(12000, 'a') + "\"}");
  put("open_config", "llama",
      R"({"model_type":"llama","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":40,)"
      R"("max_position_embeddings":32,"vocab_size":40,"rope_parameters":{"rope_type":"llama3","factor":8.0}})");
  put("open_config", "gemma3",
      R"({"model_type":"gemma3","text_config":{"hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,)"
      R"("intermediate_size":40,"max_position_embeddings":32,"vocab_size":40,"sliding_window":5,"layer_types":)"
      R"(["sliding_attention","full_attention"],"query_pre_attn_scalar":24}})");
  put("open_config", "gpt_oss",
      R"({"model_type":"gpt_oss","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"num_local_experts":4,)"
      R"("intermediate_size":40,"max_position_embeddings":32,"vocab_size":40,"num_experts_per_tok":2,"rope_parameters":)"
      R"({"rope_type":"yarn","factor":8.0,"truncate":false,"original_max_position_embeddings":16}})");
  put("open_config", "mixtral",
      R"({"model_type":"mixtral","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"num_local_experts":4,)"
      R"("intermediate_size":40,"max_position_embeddings":32,"vocab_size":40,"num_experts_per_tok":2,"sliding_window":5})");
  put("open_config", "qwen3_moe",
      R"({"model_type":"qwen3_moe","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"num_experts":4,)"
      R"("moe_intermediate_size":24,"max_position_embeddings":32,"vocab_size":40,"num_experts_per_tok":2,)"
      R"("norm_topk_prob":true,"mlp_only_layers":[],"num_local_experts":4})");
  put("open_config", "olmoe",
      R"({"model_type":"olmoe","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"num_experts":4,)"
      R"("intermediate_size":40,"max_position_embeddings":32,"vocab_size":40,"num_experts_per_tok":2,"clip_qkv":null})");
  put("open_config", "gemma2",
      R"({"model_type":"gemma2","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":40,)"
      R"("max_position_embeddings":32,"vocab_size":40,"attn_logit_softcapping":50.0,"final_logit_softcapping":30.0})");
  put("open_config", "granite",
      R"({"model_type":"granite","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":40,)"
      R"("max_position_embeddings":32,"vocab_size":40,"attention_multiplier":0.25,"embedding_multiplier":12,)"
      R"("residual_multiplier":0.22,"logits_scaling":8})");
  put("open_config", "phi3",
      R"({"model_type":"phi3","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":40,)"
      R"("max_position_embeddings":32,"vocab_size":40,"sliding_window":5,"partial_rotary_factor":0.75,"auto_map":{}})");
  put("open_config", "longrope",
      R"({"model_type":"phi3","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"intermediate_size":40,)"
      R"("max_position_embeddings":32,"vocab_size":40,"original_max_position_embeddings":16,"rope_scaling":)"
      R"({"type":"longrope","short_factor":[1,1.5,2,2],"long_factor":[1,2,4,8.5]}})");
  put("open_config", "smollm3",
      R"({"model_type":"smollm3","hidden_size":32,"num_hidden_layers":4,"num_attention_heads":4,"intermediate_size":40,)"
      R"("max_position_embeddings":32,"vocab_size":40,"no_rope_layers":[1,0,1,0],"use_sliding_window":true,)"
      R"("sliding_window":5,"layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"]})");
  put("open_config", "falcon",
      R"({"model_type":"falcon","hidden_size":32,"num_hidden_layers":2,"num_attention_heads":4,"num_kv_heads":2,)"
      R"("max_position_embeddings":32,"vocab_size":40,"new_decoder_architecture":true,"num_ln_in_parallel_attn":1})");
  put("open_config", "gpt2",
      R"({"model_type":"gpt2","n_layer":2,"n_head":3,"n_embd":24,"n_positions":32,"vocab_size":40})");
  put("shard_index", "sound",
      R"({"metadata":{"total_size":44},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"2.safetensors"}})");
  put("shard_index", "more", R"({"x":[1,{"y":[]}],"metadata":{"a":[1],"b":"c","d":1.5},"weight_map":{"a":"../b"}})");
}

// A line of INPUTS has a target and an input in base64.
void inputs_kept(const fs::path& inputs) {
  std::ifstream lines(inputs);
  std::map<std::string, int> numbers;
  for (std::string target, text; lines >> target >> text;) {
    std::string bytes(text.size(), '\0');
    const int size =
        EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    if (size < 0) throw std::runtime_error(inputs.string() + ": not base64: " + text);
    bytes.resize(static_cast<std::size_t>(size - std::ranges::count(text, '=')));
    put(target, "kept_" + std::to_string(++numbers[target]), bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_corpus FOLDER INPUTS\n");
    return 2;
  }
  root = argv[1];
  fs::create_directories(root);
  checkpoints();
  tokens();
  indices();
  texts();
  weights();
  inputs_kept(argv[2]);
  return 0;
}
