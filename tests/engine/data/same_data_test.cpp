// Data is known by what it holds: moved it is the same, and under the same path it may be another.
#include "engine/data/same_data.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/engine/data/data_support.h"
#include "tests/support/subprocess.h"

using namespace sink;
namespace fs = std::filesystem;

namespace {

// A prepared text in `folder`; `shift` makes another one, `letters` another tokenizer of the same size.
void write_text(const std::string& folder, std::int32_t shift, const char* letters = "xyxyxyxy",
                std::int64_t begin_token = -1, std::size_t domains = 1, double weight = 0) {
  std::string json = Tokenizer::train({letters}, 259).json();
  NewTokens file{.train = {}, .valid = {}, .vocabulary = 259};
  file.sources = folder;  // where text came from does not say what it is
  file.tokenizer_sha256 = sha256_hex(json);
  file.begin_token = begin_token;
  file.domains = domains;
  file.weight = weight;
  for (std::int32_t i = 0; i < 2000; ++i) file.train.push_back((i + shift) % 251);
  for (std::int32_t i = 0; i < 200; ++i) file.valid.push_back(i % 251);
  fs::create_directories(folder);
  write_bytes(folder + "/tokenizer.json", json);
  write_tokens(folder + "/tokens.h5", file);
}

constexpr const char* kTraining =
    "train_pos_learnable --layers 1 --heads 1 --width 16 --feed-forward 16 --context 20 --batch 2 --warmup 0 "
    "--eval-sequences 2 --threads 1 ";

struct World : TemporaryFolder {
  int run(const std::string& line) {
    Subprocess program = shell(*this, line);
    int code = program.wait();
    said = program.err();
    printed = program.out();
    return code;
  }
  std::string said, printed;
};

}  // namespace

TEST_CASE("data: the checksum is that of the documented bytes") {
  // python3: hashlib.sha256(b"train 3 valid 1\n" + struct.pack("<4i", 0, 1, 2, 3)).hexdigest()
  TemporaryFolder folder;
  auto checksum = [&](const NewTokens& tokens) {
    write_tokens(folder / "tokens.h5", tokens);
    return read_token_file(folder / "tokens.h5").checksum;
  };
  for (std::int64_t vocabulary : {4, 100000})  // whatever their width
    CHECK(checksum({.train = {0, 1, 2}, .valid = {3}, .vocabulary = vocabulary}) ==
          "a8f65b0f9f2bf289c0539188b7fb3a8762cff7f6b21f2cce154a579d40b5b642");
  CHECK(checksum({.train = {0, 1}, .valid = {2, 3}}) != checksum({.train = {0, 1, 2}, .valid = {3}}));
}

TEST_CASE("data: a run goes on with the same text from another place, to the same bytes") {
  World world;
  write_text(world / "dd", 0);
  write_text(world / "moved", 0);
  REQUIRE(world.run(kTraining + std::string("--data dd --steps 6 --run whole")) == 0);
  for (const char* place : {"./dd", "moved", "dd/"}) {
    CAPTURE(place);
    fs::remove_all(world / "run");
    REQUIRE(world.run(kTraining + std::string("--data dd --steps 3 --run run")) == 0);
    REQUIRE_MESSAGE(world.run(kTraining + std::string("--steps 6 --run run --resume auto --data ") + place) == 0,
                    world.said);
    CHECK_FALSE(contains(world.said, "note"));
    Checkpoint whole = load_checkpoint(world / "whole/checkpoint.h5"),
               gone_on = load_checkpoint(world / "run/checkpoint.h5");
    REQUIRE(whole.tensors.size() == gone_on.tensors.size());
    for (const auto& [path, tensor] : whole.tensors)
      for (std::int64_t i = 0; i < tensor.size(); ++i) REQUIRE(gone_on.tensor(path).item(i) == tensor.item(i));
  }
}

TEST_CASE("data: another text under the same path is refused, with both checksums") {
  World world;
  write_text(world / "dd", 0);
  REQUIRE(world.run(kTraining + std::string("--data dd --steps 3 --run run")) == 0);
  std::string theirs = read_token_file(world / "dd/tokens.h5").checksum;
  CHECK(load_checkpoint(world / "run/checkpoint.h5").attribute("data_sha256") == theirs);
  write_text(world / "kept", 0);
  write_text(world / "dd", 7);
  std::string ours = read_token_file(world / "dd/tokens.h5").checksum;
  std::string before = read_bytes(world / "run/checkpoint.h5");

  CHECK(world.run(kTraining + std::string("--data dd --steps 6 --run run --resume auto")) == 3);
  CHECK(contains(world.said, "dd holds other text than run/checkpoint.h5"));
  CHECK(contains(world.said, ours.substr(0, 12)));
  CHECK(contains(world.said, theirs.substr(0, 12)));
  CHECK(read_bytes(world / "run/checkpoint.h5") == before);

  CHECK(world.run("eval_pos_learnable sink run/checkpoint.h5 > /dev/null") == 3);
  CHECK(contains(world.said, ours.substr(0, 12)));
  CHECK(world.run("eval_pos_learnable sink run/checkpoint.h5 --input random > /dev/null") == 0);
  for (const char* chosen : {"kept", "dd"})  // knowingly
    CHECK(world.run("eval_pos_learnable sink run/checkpoint.h5 > /dev/null --data " + std::string(chosen)) == 0);

  // What was measured then says which text it is of, by its tokens.
  const auto measured = [&](const char* file) { return nlohmann::json::parse(read_bytes(world / file)); };
  CHECK(measured("run/evaluation.json")["measured_data_sha256"] == theirs);
  for (const auto& [chosen, checksum] : {std::pair("kept", theirs), std::pair("dd", ours)}) {
    REQUIRE(world.run("eval_pos_learnable sink run/checkpoint.h5 > m.json --data " + std::string(chosen)) == 0);
    CHECK(measured("m.json")["data"] == chosen);
    CHECK(measured("m.json")["measured_data_sha256"] == checksum);
    CHECK(measured("m.json")["data_sha256"] == theirs);
    REQUIRE(world.run("eval_pos_learnable interventions run/checkpoint.h5 > m.json --data " + std::string(chosen)) ==
            0);
    CHECK(measured("m.json")["measured_data_sha256"] == checksum);
  }
  REQUIRE(world.run("eval_pos_learnable sink run/checkpoint.h5 > m.json --input random") == 0);
  CHECK_FALSE(measured("m.json").contains("measured_data_sha256"));

  // Training may continue from parameters with other text; a note reports it.
  CHECK(world.run(kTraining + std::string("--data dd --steps 1 --run second --initial run/checkpoint.h5")) == 0);
  CHECK(contains(world.said, "note: dd holds other text"));
  CHECK(world.run(kTraining + std::string("--data kept --steps 1 --run third --initial run/checkpoint.h5")) == 0);
  CHECK_FALSE(contains(world.said, "note"));
}

TEST_CASE("data: another tokenizer is refused everywhere") {
  World world;
  write_text(world / "dd", 0);
  REQUIRE(world.run(kTraining + std::string("--data dd --steps 3 --run run")) == 0);
  std::string before = read_bytes(world / "dd/tokenizer.json");
  write_text(world / "dd", 0, "abababab");
  REQUIRE(read_bytes(world / "dd/tokenizer.json") != before);
  CHECK(world.run(kTraining + std::string("--data dd --steps 6 --run run --resume auto")) == 3);
  CHECK(contains(world.said, "another tokenizer"));
  CHECK(world.run("eval_pos_learnable sink run/checkpoint.h5 > /dev/null") == 3);
  CHECK(world.run("eval_pos_learnable sink run/checkpoint.h5 --data dd > /dev/null") == 3);
  CHECK(contains(world.said, "another tokenizer"));
  CHECK(world.run(kTraining + std::string("--data dd --steps 1 --run second --initial run/checkpoint.h5")) == 3);
  CHECK(contains(world.said, "another tokenizer"));
}

TEST_CASE("data: a checkpoint that does not say what its text was is accepted, with a note") {
  World world;
  write_text(world / "dd", 0);
  REQUIRE(world.run(kTraining + std::string("--data dd --steps 3 --run run")) == 0);
  Checkpoint older = load_checkpoint(world / "run/checkpoint.h5");
  older.attributes.erase("data_sha256");
  save_checkpoint(world / "run/checkpoint.h5", older);
  CHECK(world.run("eval_pos_learnable sink run/checkpoint.h5 > /dev/null") == 0);
  CHECK(contains(world.said, "note: run/checkpoint.h5 has no checksum of its text"));
  CHECK(world.run(kTraining + std::string("--data dd --steps 6 --run run --resume auto")) == 0);
  CHECK(contains(world.said, "note: run/checkpoint.h5 has no checksum"));
  CHECK(load_checkpoint(world / "run/checkpoint.h5").attributes.contains("data_sha256"));
}

TEST_CASE("data: the same tokens in other domains give other batches, and are refused") {
  World world;
  write_text(world / "two", 0, "xyxyxyxy", -1, 2, 1);
  write_text(world / "weighted", 0, "xyxyxyxy", -1, 2, 9);
  write_text(world / "one", 0);
  REQUIRE(read_token_file(world / "two/tokens.h5").checksum == read_token_file(world / "one/tokens.h5").checksum);
  const auto resumed = [&](const std::string& data, const std::string& order) {
    const std::string line = kTraining + std::string("--run run --data-order ") + order;
    fs::remove_all(world / "run");
    REQUIRE_MESSAGE(world.run(line + " --data two --steps 2") == 0, world.said);
    const int code = world.run(line + " --resume auto --steps 3 --data " + data);
    CHECK((code == 0) != contains(world.said, "with other domains"));
    return code;
  };
  CHECK(resumed("two", "mixture") == 0);
  CHECK(resumed("weighted", "mixture") == 3);
  CHECK(resumed("weighted", "shuffled") == 0);  // which reads no weights
  CHECK(resumed("one", "shuffled") == 3);
}

TEST_CASE("data: a text begins like the documents of the training data, with their begin token if they have one") {
  World world;
  write_text(world / "dd", 0, "xyxyxyxy", 7);
  write_text(world / "without", 0);
  for (const char* data : {"dd", "without"}) {
    CAPTURE(data);
    REQUIRE(world.run(kTraining + std::string("--steps 1 --data ") + data + " --run " + data + "_run") == 0);
    const std::string run = data + std::string("_run/checkpoint.h5"), begin = std::string(data) == "dd" ? "7 " : "";
    REQUIRE(world.run("eval_pos_learnable tokens --text abc " + run) == 0);
    std::string ids;
    for (std::int32_t id : Tokenizer::load(world / (data + std::string("/tokenizer.json"))).encode("abc"))
      ids += (ids.empty() ? "" : " ") + std::to_string(id);
    CHECK(world.printed == begin + ids + "\n");
    REQUIRE(world.run("eval_pos_learnable attention --text abc " + run) == 0);
    CHECK(contains(world.printed, begin.empty() ? "no begin token (no --fixed-token)" : "added by the --begin-token"));
  }
  // The fixed token of a run is in place of it.
  REQUIRE(world.run(kTraining + std::string("--steps 1 --data dd --run fixed --fixed-token 9")) == 0);
  REQUIRE(world.run("eval_pos_learnable tokens --text abc fixed/checkpoint.h5") == 0);
  CHECK(world.printed.starts_with("9 "));
}
