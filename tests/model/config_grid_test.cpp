// A grid of values of config.json, family by family: tiny models give the logits and attention patterns that
// transformers computes in float64 with the same file, or are refused by the key
// (tests/golden/open/make_config_grid.py).
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/io/file.h"
#include "engine/io/weights/safetensors_writer.h"
#include "model/open/open_model.h"
#include "tests/model/open_golden.h"
#include "tests/support/check_refused.h"
#include "tests/support/files.h"
#include "tests/support/in_turn.h"
#include "tests/support/keep_worst.h"

using namespace sink;
using namespace sink::test;

namespace {

using Json = nlohmann::json;

std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

std::uint64_t fnv1a(const std::string& name) {
  std::uint64_t h = 0xCBF29CE484222325;
  for (const unsigned char byte : name) h = (h ^ byte) * 0x100000001B3;
  return h;
}

// As the generator's weights().
void write_weights(const std::string& path, const Json& tensors, bool gemma) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const auto& [name, sizes] : tensors.items()) {
    Shape shape;
    switch (sizes.size()) {
      case 1:
        shape = Shape{sizes[0].get<std::int64_t>()};
        break;
      case 2:
        shape = Shape{sizes[0].get<std::int64_t>(), sizes[1].get<std::int64_t>()};
        break;
      default:
        shape = Shape{sizes[0].get<std::int64_t>(), sizes[1].get<std::int64_t>(), sizes[2].get<std::int64_t>()};
    }
    entries.push_back({name, StoredType::F32, shape});
  }
  SafetensorsWriter writer(path, entries);
  for (const SafetensorsWriter::Entry& entry : entries) {
    const bool gain = entry.shape.rank() == 1 && entry.name.ends_with("weight") && !gemma;
    std::vector<float> values;
    for (std::int64_t n = 0; n < entry.shape.size(); ++n) {
      const std::uint64_t bits = splitmix64(fnv1a(entry.name) + static_cast<std::uint64_t>(n)) >> 48;
      values.push_back(static_cast<float>(bits) / 65536 - 0.5f + (gain ? 1 : 0));
    }
    writer.write(values.data(), values.size() * sizeof(float));
  }
  writer.commit();
}

// One family's cases, written as folders of models.
class Grid {
 public:
  Grid(const std::string& family, const Json& json) : family_(family), json_(json) {}

  const Json& cases() const { return json_["cases"]; }

  // The folder of the model; its weights are those of all cases with the same tensors.
  std::string write(const Json& one) const {
    const std::size_t tensors = one.contains("tensors") ? one["tensors"].get<std::size_t>() : 0;
    const std::string path = folder_ / std::to_string(tensors);
    if (std::filesystem::create_directory(path))
      write_weights(path + "/model.safetensors", json_["tensors"][tensors],
                    one["config"]["model_type"].get<std::string>().starts_with("gemma"));
    write_bytes(path + "/config.json", one["config"].dump());
    return path;
  }

  Tensor array(const Json& number) const {
    static const ExpectedValues arrays("open/grid.safetensors");
    return arrays.tensor(family_ + "/" + std::to_string(number.get<int>()));
  }

 private:
  std::string family_;
  const Json& json_;
  TemporaryFolder folder_;
};

Tensor tokens_of(std::int64_t count, std::int64_t vocabulary) {
  Tensor tokens_BT = Tensor::empty({1, count}, DType::I32);
  for (std::int64_t t = 0; t < count; ++t)
    tokens_BT.data<std::int32_t>()[t] =
        static_cast<std::int32_t>(splitmix64(static_cast<std::uint64_t>(t)) % static_cast<std::uint64_t>(vocabulary));
  return tokens_BT;
}

// Largest |x - y| over largest |y|, of the last positions.
double logits_difference(const Tensor& logits_BTV, const Tensor& golden_NV) {
  const std::int64_t N = golden_NV.dim(0), V = golden_NV.dim(1), first = (logits_BTV.dim(1) - N) * V;
  double difference = 0, scale = 0;
  for (std::int64_t n = 0; n < N * V; ++n) {
    keep_worst(difference, std::abs(logits_BTV.item(first + n) - golden_NV.item(n)));
    scale = std::max(scale, std::abs(golden_NV.item(n)));
  }
  return difference / scale;
}

// Largest |x - y|; a pattern's rows sum to at most 1.
double attention_difference(const Watcher& watcher, const Tensor& golden_LHN) {
  double difference = 0;
  std::int64_t n = 0;
  for (const std::vector<Tensor>& map_H : watcher.map_LH)
    for (const Tensor& map : map_H)
      for (std::int64_t t = 0; t < map.dim(0); ++t)
        for (std::int64_t s = 0; s <= t; ++s) {
          keep_worst(difference,
                     std::abs(map.item(t * map.dim(1) + map.dim(1) - map.dim(0) + s) - golden_LHN.item(n++)));
        }
  CHECK(n == golden_LHN.size());
  return difference;
}

constexpr double kClose = 1e-12;
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace

TEST_CASE("config grid: logits and attention are those of transformers in float64, or the key is refused by name") {
  const Json grids = Json::parse(read_file("test", kModels + "../grid.json"));
  for (const auto& [name, json] : grids.items()) {
    const Grid grid(name, json);
    const std::string family = family_of_config(grid.cases()[0]["config"]);
    const Ablation* program = program_of(family);
    if (!program) continue;
    double worst_logits = 0, worst_attention = 0;
    int same = 0, refused = 0;
    for (const Json& one : grid.cases()) {
      const std::string described = name + ": " + one["name"].get<std::string>();
      CAPTURE(described);
      const std::string path = grid.write(one);
      if (one.contains("refused")) {
        ++refused;
        if (!in_turn()) continue;
        check_refused([&] { open_model(path).load(*program, DType::F64); }, {one["refused"].get<std::string>()},
                      Exit::corrupt_checkpoint);
        continue;
      }
      if (kSanitized && one["tokens"] > 1000) continue;  // minutes there
      ++same;
      if (!in_turn()) continue;
      std::string message;
      const Exit code = exit_of(
          [&] {
            const OpenModel open = open_model(path);
            CHECK(open.config.family == family);
            const auto model = open.load(*program, DType::F64);
            Watcher watcher;
            const Tensor tokens_BT = tokens_of(one["tokens"], open.config.sizes.vocabulary);
            const bool has_attention = one.contains("attention");
            const double logits =
                logits_difference(model->logits(tokens_BT, {.hooks = has_attention ? &watcher : &ForwardHooks::none()}),
                                  grid.array(one["logits"]));
            CHECK(logits < kClose);
            keep_worst(worst_logits, logits);
            if (!has_attention) return;
            const double attention = attention_difference(watcher, grid.array(one["attention"]));
            CHECK(attention < kClose);
            keep_worst(worst_attention, attention);
          },
          &message);
      CHECK_MESSAGE(code == Exit::ok, message);
    }
    CHECK(same > 0);
    CHECK(refused > 0);
    std::printf("config grid: %-8s %3d cases: logits off by %.1e of the largest, attention by %.1e; %d refused\n",
                name.c_str(), same, worst_logits, worst_attention, refused);
  }
}
