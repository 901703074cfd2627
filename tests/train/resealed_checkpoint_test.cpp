// A checkpoint that was changed and given a valid checksum: content that contradicts its tensors or other attributes is
// rejected. Training and evaluation exit with code 4 and one sentence.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/io/checkpoint.h"
#include "model/size_settings.h"
#include "tests/support/in_turn.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

const std::string kRun =
    "train_pos_learnable --task bigram-backcopy --layers 2 --heads 2 --width 16 --feed-forward 16 --context 32 --batch "
    "2 --steps 4 --warmup 0 --eval-sequences 2 --threads 1 --run ";

struct ResealedRun {
  ResealedRun() : run(folder / "run"), path(run + "/checkpoint.h5") {
    Subprocess made(folder, words_of(kRun + run));
    REQUIRE_MESSAGE(made.wait() == 0, made.err());
    whole = load_checkpoint(path);
  }
  void refused(const std::string& line, const std::string& what, const std::string& clue) {
    if (!test::in_turn()) return;
    Subprocess program(folder, words_of(line));
    const int code = program.wait();
    const std::string said = program.err();
    CHECK_MESSAGE(code == 4, what, ": ", said);
    CHECK_MESSAGE(contains(said, clue), what, ": ", said);
    CHECK_MESSAGE(std::count(said.begin(), said.end(), '\n') == 1, said);
  }
  template <class Change>
  void resume_refuses(const std::string& what, const std::string& clue, Change&& change) {
    Checkpoint changed = whole;
    change(changed);
    save_checkpoint(path, changed);
    refused(kRun + run + " --resume auto --steps 8", what, clue);
  }
  template <class Change>
  void evaluation_refuses(const std::string& what, const std::string& clue, Change&& change) {
    Checkpoint changed = whole;
    change(changed);
    save_checkpoint(folder / "changed.h5", changed);
    write_bytes(folder / "tokens.txt", "1 2 3 4\n");
    refused("eval_pos_learnable sink --threads 1 " + folder / "changed.h5" + " --tokens " + folder / "tokens.txt", what,
            clue);
  }
  auto attribute(const std::string& name, const std::string& text) {
    return [=](Checkpoint& checkpoint) { checkpoint.attributes[name] = text; };
  }

  TemporaryFolder folder;
  std::string run, path;
  Checkpoint whole;
};

}  // namespace

TEST_CASE("resealed checkpoint: unchanged, it is resumed") {
  ResealedRun run;
  save_checkpoint(run.path, run.whole);
  Subprocess resumed(run.folder, words_of(kRun + run.run + " --resume auto --steps 8"));
  CHECK_MESSAGE(resumed.wait() == 0, resumed.err());
}

TEST_CASE("resealed checkpoint: sizes that its tensors do not have") {
  ResealedRun run;
  for (const Setting<Sizes>& size : size_settings()) {
    for (const char* text : {"-1", "x", "", "nan", "99999999999999999999"}) {
      run.resume_refuses(size.key() + " = " + text, size.key(), run.attribute(size.key(), text));
      run.evaluation_refuses(size.key() + " = " + text, size.key(), run.attribute(size.key(), text));
    }
    if (size.low < 1) continue;
    run.resume_refuses(size.key() + " = 0", size.key(), run.attribute(size.key(), "0"));
    run.evaluation_refuses(size.key() + " = 0", size.key(), run.attribute(size.key(), "0"));
  }
  for (const char* key : {"layers", "heads", "width", "feed_forward", "context", "vocabulary", "kv_heads", "head_width",
                          "window", "prefix"})
    run.resume_refuses(std::string(key) + " = 4", key, run.attribute(key, "4"));
}

TEST_CASE("resealed checkpoint: a place in the run that no run is at") {
  ResealedRun run;
  for (const char* name : {"step", "updates", "skipped_in_a_row", "tokens", "seed"})
    for (const char* text : {"-1", "x", "", "1.5", "5", "4000000000", "9223372036854775807", "99999999999999999999"})
      run.resume_refuses(std::string(name) + " = " + text, name, run.attribute(name, text));
  run.resume_refuses("precision", "precision", run.attribute("precision", "bf16"));
  run.resume_refuses("initial_sha256", "initial_sha256", run.attribute("initial_sha256", "\x1b[2Jnone"));
  run.resume_refuses("updates beyond step", "updates", [](Checkpoint& checkpoint) {
    checkpoint.attributes["step"] = "1";
    checkpoint.attributes["tokens"] = std::to_string(2 * 32);
    checkpoint.attributes["updates"] = "2";
  });
  for (const char* name : {"step", "tokens", "begin_token", "prefix_token"})
    for (const char* text : {"-1", "x", "", "99999999999999999999"})
      run.evaluation_refuses(std::string(name) + " = " + text, name, run.attribute(name, text));
  run.evaluation_refuses("begin_token", "begin_token", run.attribute("begin_token", "4294967297"));  // 1 in 32 bits
}

TEST_CASE("resealed checkpoint: settings that are none") {
  ResealedRun run;
  const std::string settings = run.whole.attribute("config_toml");
  for (const char* line : {"steps = x\n", "layers = 0\n", "learning-rate = nan\n", "adam-epsilon = 0\n", "steps\n"})
    run.resume_refuses(line, "checkpoint.h5", run.attribute("config_toml", line));
  for (const char* line : {"steps = x\n", "seed = -1\n", "fixed-token = -2\n", "steps\n"})
    run.evaluation_refuses(line, "changed.h5", run.attribute("config_toml", line));
}

TEST_CASE("resealed checkpoint: an optimiser's state that no optimiser has") {
  ResealedRun run;
  auto first_of = [](Checkpoint& checkpoint, const std::string& start) {
    return std::find_if(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                        [&](const auto& tensor) { return tensor.first.starts_with(start); });
  };
  run.resume_refuses("negative second moment", "optimizer/second_moment/", [&](Checkpoint& checkpoint) {
    auto moment = first_of(checkpoint, "optimizer/second_moment/");
    moment->second = moment->second.clone();
    moment->second.data<float>()[3] = -1e-3f;
  });
  run.resume_refuses("of another size", "optimizer/first_moment/", [&](Checkpoint& checkpoint) {
    first_of(checkpoint, "optimizer/first_moment/")->second = Tensor::zeros({3}, DType::F32);
  });
  run.resume_refuses("one is missing", "optimizer/first_moment/", [&](Checkpoint& checkpoint) {
    checkpoint.tensors.erase(first_of(checkpoint, "optimizer/first_moment/"));
  });
  run.resume_refuses("one too many", "optimizer/more", [&](Checkpoint& checkpoint) {
    checkpoint.tensors.emplace_back("optimizer/more", Tensor::zeros({3}, DType::F32));
  });
  run.resume_refuses("a parameter of no elements", "embedding.token.weight", [&](Checkpoint& checkpoint) {
    first_of(checkpoint, "parameters/embedding.token.weight")->second = Tensor::zeros({0, 16}, DType::F32);
  });
}
