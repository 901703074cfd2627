// The checkpoints around the onset of the sink: which files exist, after any kill and resume, and that they are models.
#include "train/birth_checkpoints.h"

#include <doctest/doctest.h>

#include <chrono>
#include <map>
#include <thread>

#include "engine/io/checkpoint.h"
#include "model/all_ablations.h"
#include "tests/support/in_turn.h"
#include "tests/support/subprocess.h"

using namespace sink;

namespace {

RunConfig small() {
  RunConfig config;
  config.task = "bigram-backcopy";
  config.layers = config.heads = 1;
  config.width = config.feed_forward = 16;
  config.context = 32;
  config.batch = 2;
  config.eval_sequences = 2;
  return config;
}

// Steps `from` + 10 ... `to` of a training that measures `alphas` at 10, 20, ...
void train_on(const std::string& folder, std::int64_t around, const std::vector<double>& alphas, std::int64_t from,
              std::int64_t to) {
  static TrainingRun run(small(), ablation_named("baseline"));
  Progress progress(100, 100, true);
  BirthCheckpoints birth(folder, around, from, progress);
  for (std::int64_t step = from + 1; step <= to; ++step) {
    run.set_state({.step = step});
    Evaluation evaluation;
    evaluation.alpha_1_max = alphas[static_cast<std::size_t>((step - 1) / 10)];
    birth.on_step(run, {.step = step}, step % 10 == 0 ? &evaluation : nullptr);
  }
}

std::map<std::string, std::string> birth_files(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/birth"))
    files[entry.path().filename()] = read_bytes(entry.path());
  return files;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : birth_files(folder)) names.push_back(name);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("birth checkpoints: the last N up to the first alpha above 0.2, and N after it") {
  const std::vector<double> alphas{0.1, 0.1, 0.2, 0.25, 0.1, 0.3, 0.3, 0.3};  // 0.2 itself has not passed it
  TemporaryFolder folder;
  train_on(folder.path, 2, alphas, 0, 30);
  CHECK(names_in(folder.path) == Names{"step-20.h5", "step-30.h5"});
  train_on(folder.path, 2, alphas, 30, 50);
  CHECK(names_in(folder.path) == Names{"step-30.h5", "step-40.h5", "step-50.h5"});
  train_on(folder.path, 2, alphas, 50, 80);
  CHECK(names_in(folder.path) == Names{"step-30.h5", "step-40.h5", "step-50.h5", "step-60.h5"});
  write_bytes(folder / "birth/notes.txt", "mine");
  train_on(folder.path, 2, {0.3, 0.3, 0.3, 0.3}, 0, 40);  // another run from its beginning
  CHECK(names_in(folder.path) == Names{"notes.txt", "step-10.h5", "step-20.h5", "step-30.h5"});
  TemporaryFolder never;
  train_on(never.path, 3, std::vector<double>(8, NAN), 0, 80);
  CHECK(names_in(never.path) == Names{"step-60.h5", "step-70.h5", "step-80.h5"});
}

TEST_CASE("birth checkpoints: killed after any step and resumed from any before it, the folder is the same") {
  for (double late : {0.1, 0.9}) {
    const std::vector<double> alphas{0.1, 0.1, 0.1, late, 0.1, 0.9, 0.9, 0.9, 0.9};
    TemporaryFolder straight;
    train_on(straight.path, 2, alphas, 0, 90);
    const auto expected = birth_files(straight.path);
    REQUIRE(expected.size() == 4);
    for (std::int64_t killed = 10; killed <= 90; killed += 10)
      for (std::int64_t saved = 0; saved <= killed; saved += 5) {
        if (!test::in_turn()) continue;
        CAPTURE(killed);
        CAPTURE(saved);
        TemporaryFolder folder;
        train_on(folder.path, 2, alphas, 0, killed);
        train_on(folder.path, 2, alphas, saved, 90);
        CHECK(birth_files(folder.path) == expected);
      }
  }
}

TEST_CASE("birth checkpoints: alpha_* counts where the model has an extra key or token") {
  Evaluation evaluation;
  evaluation.alpha_1_max = 0.1;
  CHECK(largest_alpha(evaluation) == 0.1);
  evaluation.proxy.alpha_star_layer_head = {{0.05, 0.4}, {0.3, 0.2}};
  CHECK(largest_alpha(evaluation) == 0.4);
  evaluation.alpha_1_max = 0.5;
  CHECK(largest_alpha(evaluation) == 0.5);
}

TEST_CASE("birth checkpoints: of a program that is killed, measured by eval, not to be gone on from") {
  TemporaryFolder folder;
  const auto command = [&](const std::string& run, const std::string& more) {
    return words_of(
        "train_baseline --task bigram-backcopy --layers 1 --heads 1 --width 16 --feed-forward 32 "
        "--context 32 --batch 2 --steps 400 --eval-every 10 --eval-sequences 4 --checkpoint-every 35 "
        "--learning-rate 0.0001 --birth-checkpoints 3 --run " +
        folder / run + " " + more);
  };
  Subprocess whole(folder, command("whole", ""));
  REQUIRE_MESSAGE(whole.wait() == 0, whole.err());
  CHECK(names_in(folder / "whole") == Names{"step-380.h5", "step-390.h5", "step-400.h5"});  // too slow for a sink
  {
    Subprocess killed(folder, command("killed", ""));
    while (!std::filesystem::exists(folder / "killed/checkpoint.h5"))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    killed.send(SIGKILL);
    killed.wait();
  }
  Subprocess on(folder, command("killed", "--resume auto"));
  REQUIRE_MESSAGE(on.wait() == 0, on.err());
  // A run that starts over would end with the same files.
  CHECK_MESSAGE(contains(on.err(), "resuming from " + folder / "killed/checkpoint.h5" + ", step "), on.err());
  CHECK(birth_files(folder / "killed") == birth_files(folder / "whole"));

  const std::string file = folder / "whole/birth/step-390.h5";
  Subprocess measured(folder, words_of("eval_baseline sink " + file));
  CHECK_MESSAGE(measured.wait() == 0, measured.err());
  CHECK(contains(measured.out(), "\"step\": 390"));
  Subprocess resumed(folder, command("other", "--resume " + file));
  CHECK(resumed.wait() == 2);
  CHECK(contains(resumed.err(), "holds parameters only"));
  Subprocess replaced(folder, command("whole", "--force --steps 20"));  // the older run's go with it
  CHECK_MESSAGE(replaced.wait() == 0, replaced.err());
  CHECK(names_in(folder / "whole") == Names{"step-1.h5", "step-10.h5", "step-20.h5"});
  CHECK_FALSE(std::filesystem::exists(folder / "whole/.replaced"));
}
