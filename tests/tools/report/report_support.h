// Synthetic run folders, and the report program run on them.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/subprocess.h"

namespace sink {

namespace fs = std::filesystem;
using nlohmann::json;

inline Subprocess run_report(const TemporaryFolder& folder, const std::string& arguments) {
  return {folder, words_of("report " + arguments)};
}

// An evaluation with T = 4, two layers and two heads. `mass` scales the proxy weights to the raw ones.
inline json evaluation(const std::string& name, const std::string& task, const std::string& ablation,
                       const std::string& attention, int seed, double alpha, double mass) {
  const json heads = {{alpha, 0.5}, {0.25, 0.125}}, raw = {{alpha * mass, 0.5 * mass}, {0.25 * mass, 0.125 * mass}};
  return {{"schema", 1},
          {"run", name},
          {"task", task},
          {"ablation", ablation},
          {"policies", "position=Learned norm=RMSNorm attention=" + attention},
          {"seed", seed},
          {"step", 20},
          {"steps", 20},
          {"tokens", 5120},
          {"parameters", 1000},
          {"commit", "abc123"},
          {"date", "2026-11-21T10:00:00Z"},
          {"precision", "f32"},
          {"config_toml", "task = \"" + task + "\"\n"},
          {"val_loss", 4.123456789},
          {"sequences", 100},
          {"context", 4},
          {"sink_epsilon", {0.2, 0.3, 0.4}},
          {"sink_1", {75, 50, 25}},
          {"sink_1_raw", {70, 45, 20}},
          {"alpha_1", alpha},
          {"alpha_1_raw", alpha * mass},
          {"alpha_1_max", 0.9},
          {"row_mass", mass},
          {"first_value_norm_ratio", "nan"},
          {"alpha_k", {alpha, 0.1, 0.1, 0.1}},
          {"alpha_k_raw", {alpha * mass, 0.1, 0.1, 0.1}},
          {"alpha_1_layer_head", heads},
          {"alpha_1_layer_head_raw", raw},
          {"hidden_norm_layer_position", {{9, 1, 1, 1}, {90, 2, 2, 2}, {95, 3, 3, 3}}},
          {"key_norm_layer_position", {{1, 2, 2, 2}, {1, 2, 2, 2}}},
          {"value_norm_layer_position", {{0.1, 2, 2, 2}, {0.1, 2, 2, 2}}},
          {"map",
           {{"layer", 1},
            {"head", 0},
            {"tokens", {"</script>", " <b>", "\n", "x"}},
            {"weights", {{1, 0, 0, 0}, {0.5, 0.5, 0, 0}, {0.5, 0.25, 0.25, 0}, {0.5, 0.25, 0.125, 0.125}}}}}};
}

inline std::string metrics() {
  return "{\"step\": 1, \"tokens\": 256, \"train_loss\": 6.5, \"val_loss\": 6.4, \"alpha_1\": 0.1, \"alpha_1_raw\": "
         "0.1}\n"
         "{\"step\": 2, \"tokens\": 512, \"train_loss\": \"nan\", \"skipped\": true}\n"
         "{\"step\": 3, \"tokens\": 768, \"train_loss\": 5.5, \"val_loss\": 5.4, \"alpha_1\": 0.2, \"alpha_1_raw\": "
         "0.2}\n";
}

inline std::string make_run(const TemporaryFolder& place, const std::string& folder, const json& evaluated) {
  fs::create_directories(place / folder);
  write_bytes(place / folder + "/config.toml", "task = \"text\"\nseed = 7\nsteps = 20\ncontext = 4\n");
  write_bytes(place / folder + "/metrics.jsonl", metrics());
  if (!evaluated.is_null()) write_bytes(place / folder + "/evaluation.json", evaluated.dump());
  return place / folder + " ";
}

// The JSON the page draws from, as the browser reads it.
inline json embedded_data(const std::string& html) {
  const std::string open = "id=\"report-data\">";
  const std::size_t begin = html.find(open) + open.size();
  json data = json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  for (json& run : data["runs"])  // steps stand once in the page
    for (json& curve : run["curves"]) curve["x"] = data["xs"][curve["x"].get<std::size_t>()];
  return data;
}

inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace sink
