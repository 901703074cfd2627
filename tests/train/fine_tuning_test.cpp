// Fine-tuning on chats, from text to the tuned model: which tokens the loss counts, what is measured before and after,
// that a stopped run resumes bit for bit, and what is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/data/token_file.h"
#include "engine/io/checkpoint.h"
#include "engine/io/sha256.h"
#include "engine/tensor_view.h"
#include "model/all_ablations.h"
#include "model/model_checkpoint.h"
#include "tests/support/subprocess.h"
#include "train/initial_model.h"
#include "train/training_run.h"

using namespace sink;

namespace {

const std::string kSizes =
    " --layers 1 --heads 2 --width 16 --feed-forward 16 --context 16 --batch 2 --threads 1 --eval-sequences 6 "
    "--warmup 0 --fixed-token 1 ";

void run(const TemporaryFolder& folder, const std::string& command) {
  Subprocess program(folder, words_of(command));
  REQUIRE_MESSAGE(program.wait() == 0, program.err());
}

nlohmann::json json_of(const std::string& path) { return nlohmann::json::parse(read_bytes(path)); }

// A text, chats by its tokenizer, and a model trained for a moment on the text.
struct Trained : TemporaryFolder {
  Trained() {
    std::string text, chat;
    for (int i = 0; i < 60; ++i) {
      text += "The number " + std::to_string(i * i % 97) + " is no answer to the question.\n<|endoftext|>\n";
      chat +=
          R"({"messages": [{"role": "user", "content": "Which number?"}, {"role": "assistant", "content": "Number )" +
          std::to_string(i) + "\"}]}\n";
    }
    write_bytes(*this / "text.txt", text);
    write_bytes(*this / "chat.jsonl", chat);
    run(*this,
        "prepare --vocab 300 --validation-fraction 0.2 --text " + *this / "text.txt" + " --out " + *this / "text");
    run(*this, "prepare --validation-fraction 0.2 --chat " + *this / "chat.jsonl" + " --tokenizer " +
                   *this / "text/tokenizer.json" + " --out " + *this / "chat");
    run(*this, "train_baseline" + kSizes + "--steps 20 --data " + *this / "text" + " --run " + *this / "first");
  }
  std::string tune(const std::string& name, const std::string& more = "") const {
    return "train_baseline" + kSizes + "--accumulate 2 --learning-rate 0.001 --schedule cosine --steps 30 " +
           "--eval-every 10 --checkpoint-every 7 --data " + *this / "chat" + " --run " + *this / name + " --initial " +
           *this / "first/checkpoint.h5" + " " + more;
  }
};

// The mean of -log p over the targets that the file marks, from the model's logits: an independent implementation of
// the definition, block by block.
double loss_by_hand(LanguageModel& model, const TokenFile& file, std::int64_t T, std::int64_t fixed_token,
                    std::int64_t sequences) {
  double sum = 0;
  std::int64_t targets = 0, blocks = file.valid.size() / (T + 1);
  for (std::int64_t n = 0; n < sequences; ++n) {
    std::int64_t begin = n * blocks / sequences * (T + 1);
    std::vector<std::int32_t> block(static_cast<std::size_t>(T + 1));
    file.valid.copy(begin, T + 1, block.data());
    block[0] = static_cast<std::int32_t>(fixed_token);
    Tensor tokens = Tensor::from({1, T}, std::vector<std::int32_t>(block.begin(), block.end() - 1));
    Tensor logits = model.logits(tokens, {}).to(DType::F64);
    std::int64_t V = logits.size() / T;
    for (std::int64_t t = 0; t < T; ++t) {
      if (!file.valid_predicted.has(begin + t + 1)) continue;
      double partition = 0;
      for (std::int64_t v = 0; v < V; ++v) partition += std::exp(logits.item(t * V + v));
      sum += std::log(partition) - logits.item(t * V + block[static_cast<std::size_t>(t + 1)]);
      ++targets;
    }
  }
  REQUIRE(targets > 10);
  return sum / static_cast<double>(targets);
}

}  // namespace

TEST_CASE("fine-tuning: the loss is that of answers alone, before and after stand beside each other, resume is exact") {
  Trained folder;
  run(folder, folder.tune("tuned"));
  Subprocess shown(folder, words_of("report " + folder / "tuned" + " --out " + folder / "page.html"));
  if (shown.wait() == 0) {  // Chart.js may not be there
    CHECK(contains(shown.out(), "tuned, before"));
  }
  auto before = json_of(folder / "tuned/evaluation-before.json"), after = json_of(folder / "tuned/evaluation.json");
  CHECK(before["step"] == 0);
  CHECK(before["run"] == "tuned, before");
  CHECK(after["step"] == 30);
  CHECK(after["val_loss"].get<double>() < before["val_loss"].get<double>());
  CHECK(before["sink_k"].size() == after["sink_k"].size());

  // Both by hand, from the checkpoints.
  TokenFile chat = read_token_file(folder / "chat/tokens.h5");
  const Ablation& baseline = ablation_named("baseline");
  for (const auto& [path, json] :
       {std::pair{folder / "first/checkpoint.h5", before}, {folder / "tuned/checkpoint.h5", after}}) {
    auto model = load_model(load_checkpoint(path), baseline, DType::F32, "test");
    CHECK(json["val_loss"].get<double>() == doctest::Approx(loss_by_hand(*model, chat, 16, 1, 6)).epsilon(1e-5));
  }

  // What it started from is known by its parameters, however the file was made since.
  Checkpoint first = load_checkpoint(folder / "first/checkpoint.h5"),
             tuned = load_checkpoint(folder / "tuned/checkpoint.h5");
  Sha256 digest;
  for (const auto& [name, tensor] : first.tensors)
    if (name.starts_with("parameters/")) {
      digest.add((name.substr(11) + "\n").data(), name.size() - 10);
      digest.add(tensor.raw(), tensor.bytes());
    }
  const std::string started_from = digest.hex();
  CHECK(tuned.attribute("initial_sha256") == started_from);
  CHECK(before["initial_sha256"] == started_from);
  CHECK(after["initial_sha256"] == started_from);
  CHECK(first.attributes.count("initial_sha256") == 0);
  CHECK(tuned.attribute("data_sha256") == chat.checksum);
  CHECK(tuned.attribute("step") == "30");
}

TEST_CASE("fine-tuning: the moments of the optimiser begin at zero, and so does the count of steps") {
  Trained folder;
  run(folder, folder.tune("tuned", "--steps 1 --learning-rate 0 --weight-decay 0"));
  Checkpoint first = load_checkpoint(folder / "first/checkpoint.h5"),
             tuned = load_checkpoint(folder / "tuned/checkpoint.h5");
  for (const auto& [name, tensor] : tuned.tensors) {
    if (name.starts_with("parameters/")) {  // nothing was learned
      for (std::int64_t i = 0; i < tensor.size(); ++i) CHECK(tensor.item(i) == first.tensor(name).item(i));
    } else if (name.starts_with("optimizer/second_moment/")) {
      // After one step from zero v = (1 - beta2) g^2 with the clipped gradient: its sum is below (1 - beta2) clip^2.
      double sum = 0;
      for (std::int64_t i = 0; i < tensor.size(); ++i) sum += tensor.item(i);
      CHECK(sum <= 0.05 * 1.0001);
    }
  }
  CHECK(tuned.attribute("updates") == "1");
}

TEST_CASE("fine-tuning: a run that is stopped ends with the bits of one that was not, where its start is gone, too") {
  Trained folder;
  run(folder, folder.tune("whole", "--schedule constant"));  // which does not know how long a run will be
  run(folder, folder.tune("parts", "--schedule constant --steps 17"));
  const std::string before = read_bytes(folder / "parts/evaluation-before.json");
  std::filesystem::rename(folder / "first", folder / "gone");
  run(folder, folder.tune("parts", "--schedule constant --resume auto"));
  CHECK(read_bytes(folder / "whole/checkpoint.h5") == read_bytes(folder / "parts/checkpoint.h5"));
  CHECK(read_bytes(folder / "parts/evaluation-before.json") == before);
}

TEST_CASE("fine-tuning: chats by another tokenizer than the model's are refused, naming both") {
  Trained folder;
  run(folder, "prepare --vocab 300 --chat " + folder / "chat.jsonl" + " --out " + folder / "other");
  Subprocess refused(folder, words_of(folder.tune("tuned", "--data " + folder / "other")));
  CHECK(refused.wait() == 3);
  CHECK(contains(refused.err(), folder / "other" + " has another tokenizer than " + folder / "first/checkpoint.h5"));
  CHECK(contains(refused.err(), "`prepare --tokenizer` makes it"));
  CHECK(contains(refused.err(), sha256_hex(read_bytes(folder / "other/tokenizer.json")).substr(0, 12)));
  CHECK(contains(refused.err(), sha256_hex(read_bytes(folder / "text/tokenizer.json")).substr(0, 12)));
}
