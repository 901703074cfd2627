// What a program that ran out of memory advises is true: every flag it names is given, and then it does not run out. On
// emulated devices of several sizes; no GPU is as small.
#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

#include "engine/device.h"
#include "tests/support/has_mpi.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

const std::string kRun =
    "train_pos_learnable --device cuda --task bigram-backcopy --layers 4 --heads 1 --width 16 --feed-forward 16 "
    "--context 32 --batch 4 --steps 1 --warmup 0 --eval-sequences 4 --force --run ";

struct Said {
  int code;
  std::string text;
};

// A program on a device of so many MiB.
Said on_device(double mib, const TemporaryFolder& folder, const std::string& line) {
  ::setenv("SINK_DEVICE_MIB", std::to_string(mib).c_str(), 1);
  Subprocess program(folder, words_of(line));
  ::unsetenv("SINK_DEVICE_MIB");
  int code = program.wait();
  return {code, program.err()};
}

// " --batch 2 --accumulate 2" of a text that has it.
std::string flags_in(const std::string& text) {
  std::string flags;
  bool named = false;
  for (const std::string& word : words_of(text)) {
    bool number = word.find_first_not_of("0123456789") == std::string::npos;
    if (word.starts_with("--") || (named && number)) flags += " " + word;
    named = word.starts_with("--");
  }
  return flags;
}

}  // namespace

TEST_CASE("memory advice: a run that did not fit trains with the flags that the message names") {
  if (description_of(Device::cuda) != "cuda (emulated)") return;
  TemporaryFolder folder;
  std::string run = kRun + folder / "run";
  std::set<std::string> seen;
  for (double mib : {0.3, 0.55, 0.59, 0.8}) {
    CAPTURE(mib);
    Said said = on_device(mib, folder, run);
    REQUIRE_MESSAGE(said.code == 6, said.text);
    for (const char* part : {"out of memory on cuda (emulated): asked for ", " KiB for a tensor f32 (", " in use, of "})
      CHECK_MESSAGE(contains(said.text, part), said.text);
    if (contains(said.text, "a smaller model")) {
      seen.insert("model");
      continue;
    }
    std::string advice = said.text.substr(said.text.find("--", said.text.find("in use, of ")));
    std::size_t other = advice.find("; so does --gradient-checkpointing");
    std::string flags = flags_in(advice.substr(0, other));
    for (const std::string& word : words_of(flags))
      if (word.starts_with("--")) seen.insert(word);
    Said advised = on_device(mib, folder, run + flags);
    CHECK_MESSAGE(advised.code == 0, advice, advised.text);
    if (other == std::string::npos) continue;
    seen.insert("or --gradient-checkpointing");
    Said recomputed = on_device(mib, folder, run + " --gradient-checkpointing");
    CHECK_MESSAGE(recomputed.code == 0, advice, recomputed.text);
  }
  CHECK(seen == std::set<std::string>{"model", "--batch", "--accumulate", "--gradient-checkpointing", "--context",
                                      "or --gradient-checkpointing"});
}

TEST_CASE("memory advice: of several ranks, each gets as many of the micro-batches that the message names") {
  if (description_of(Device::cuda) != "cuda (emulated)" || !has_mpi()) return;
  TemporaryFolder folder;
  const std::string run =
      "train_baseline --device cuda --nproc 2 --task bigram-backcopy --layers 2 --heads 2 --width 32 --feed-forward 32 "
      "--context 32 --batch 6 --accumulate 2 --steps 1 --warmup 0 --eval-sequences 2 --threads 1 --force --run " +
      folder / "run";
  int followed = 0;
  for (double mib : {1.0, 1.05, 1.1, 1.15, 1.2}) {
    CAPTURE(mib);
    const Said said = on_device(mib, folder, run);
    const std::size_t begin = said.text.find("--batch", said.text.find("in use, of "));
    if (said.code != 6 || begin == std::string::npos) continue;
    const std::string advice = said.text.substr(begin, said.text.find(';', begin) - begin);
    const Said advised = on_device(mib, folder, run + flags_in(advice.substr(0, advice.find('\n'))));
    CHECK_MESSAGE(advised.code == 0, advice, advised.text);
    ++followed;
  }
  CHECK(followed >= 3);
}

TEST_CASE("memory advice: a measurement that did not fit is made with the batch that the message names") {
  if (description_of(Device::cuda) != "cuda (emulated)") return;
  TemporaryFolder folder;
  REQUIRE(Subprocess(folder, words_of(kRun + folder / "run")).wait() == 0);
  auto eval = [&](const std::string& batch) {
    return "eval_pos_learnable sink " + folder / "run/checkpoint.h5" +
           " --sequences 8 --context 32 --map none --device cuda" + batch;
  };
  Said said = on_device(0.12, folder, eval(" --batch 8"));
  REQUIRE_MESSAGE(said.code == 6, said.text);
  std::string flags = flags_in(said.text.substr(said.text.find("in use, of ")));
  CHECK_MESSAGE(flags.starts_with(" --batch "), said.text);
  Said advised = on_device(0.12, folder, eval(flags));
  CHECK_MESSAGE(advised.code == 0, flags, advised.text);
  Said none = on_device(0.1, folder, eval(" --batch 8"));
  CHECK(none.code == 6);
  CHECK_MESSAGE(contains(none.text, "Not even one sequence"), none.text);
}
