#include "tools/report/evaluation_reader.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/io/file.h"
#include "tools/report/json_input.h"

namespace sink::report {
namespace {

using nlohmann::json;
constexpr std::size_t kMaxWeights = std::size_t{1} << 26;  // of all maps of a file: 512 MiB
constexpr std::size_t kMaxInterventions = 1000;
constexpr double kOnsetSink = 10, kOnsetMassive = 3;  // percent; times the other positions
constexpr std::size_t kMaxNameLength = 40;            // of an intervention

std::vector<std::string> to_tokens(const json& value, const Place& at) {
  if (!value.is_array()) damaged(at, "expected a list of tokens");
  std::vector<std::string> tokens;
  for (const auto& token : value) {
    if (!token.is_string()) damaged(at, "tokens must be strings");
    tokens.push_back(token.get<std::string>());
  }
  return tokens;
}

// One map: a row per token, which may stop after its last weight that is not zero.
Row to_weights(const json& rows, std::size_t tokens, bool extra_key, std::size_t& weights_left, const Place& at) {
  const std::size_t columns = tokens + extra_key;
  if (!rows.is_array() || rows.size() != tokens)
    damaged(at, "expected " + std::to_string(tokens) + " rows of weights, one per token, got " +
                    (rows.is_array() ? std::to_string(rows.size()) : std::string(rows.type_name())));
  if (tokens * columns > weights_left) damaged(at, "the maps are too large to be shown");
  weights_left -= tokens * columns;
  Row weights(tokens * columns, 0.0);
  for (std::size_t i = 0; i < tokens; ++i) {
    const Row row = to_row(rows[i], at);
    if (row.size() > columns)
      damaged(at,
              "expected at most " + std::to_string(columns) + " weights in a row, got " + std::to_string(row.size()));
    std::copy(row.begin(), row.end(), weights.begin() + static_cast<std::ptrdiff_t>(i * columns));
  }
  return weights;
}

void require(bool good, const Place& at, const std::string& what) {
  if (!good) damaged(at, what);
}

AttentionMaps to_maps(const json& value, const std::string& file) {
  const Place at{file, "maps"};
  require(value.is_object(), at, "expected an object");
  const Reader read{value, file};
  AttentionMaps maps;
  maps.layers = read.integer("layers", 0);
  maps.heads = read.integer("heads", 0);
  maps.extra_key = value.value("extra_key", json(false)) == json(true);
  const json tokens = value.value("tokens", json::array()), weights = value.value("weights", json::array());
  require(tokens.is_array() && weights.is_array() && !weights.empty() && weights.size() == tokens.size(), at,
          "expected tokens and weights of the same sequences, at least one");
  std::size_t weights_left = kMaxWeights;
  for (std::size_t n = 0; n < weights.size(); ++n) {
    maps.tokens.push_back(to_tokens(tokens[n], at));
    require(weights[n].is_array() && static_cast<std::int64_t>(weights[n].size()) == maps.layers, at,
            "expected weights of " + std::to_string(maps.layers) + " layers");
    for (const json& layer : weights[n]) {
      require(layer.is_array() && static_cast<std::int64_t>(layer.size()) == maps.heads, at,
              "expected weights of " + std::to_string(maps.heads) + " heads");
      for (const json& head : layer)
        maps.weights.push_back(
            head.is_null() ? Row() : to_weights(head, maps.tokens[n].size(), maps.extra_key, weights_left, at));
    }
  }
  const json chosen = value.value("chosen", json::object());
  require(chosen.is_object(), at, "expected an object `chosen`");
  const Reader of_chosen{chosen, file};
  maps.chosen = {of_chosen.integer("sequence", 0), of_chosen.integer("layer", 0), of_chosen.integer("head", 0)};
  const auto& [sequence, layer, head] = maps.chosen;
  const auto sequences = static_cast<std::int64_t>(maps.tokens.size());
  require(sequence >= 0 && sequence < sequences && layer >= 0 && layer < maps.layers && head >= 0 &&
              head < maps.heads && !maps.at(sequence, layer, head).empty(),
          at, "the chosen map is not among the stored ones");
  return maps;
}

// The single map in files of older programs.
AttentionMaps to_single_map(const json& value, const Measurement& e, const std::string& file) {
  const Place at{file, "map"};
  require(value.is_object(), at, "expected an object");
  const Reader read{value, file};
  AttentionMaps maps;
  maps.chosen = {0, read.integer("layer", 0), read.integer("head", 0)};
  maps.layers = static_cast<std::int64_t>(e.proxy.alpha_1_layer_head.size());
  maps.heads = maps.layers > 0 ? static_cast<std::int64_t>(e.proxy.alpha_1_layer_head[0].size()) : 0;
  require(maps.chosen.layer >= 0 && maps.chosen.layer < maps.layers && maps.chosen.head >= 0 &&
              maps.chosen.head < maps.heads,
          at, "its layer and head are not in alpha_1_layer_head");
  maps.tokens.push_back(to_tokens(value.value("tokens", json::array()), at));
  require(!maps.tokens[0].empty(), at, "expected tokens");
  const Row on_extra_key = read.row("extra_key_weights");
  maps.extra_key = !on_extra_key.empty();
  const std::size_t T = maps.tokens[0].size();
  std::size_t weights_left = kMaxWeights;
  const Row weights = to_weights(value.value("weights", json::array()), T, false, weights_left, at);
  require(on_extra_key.empty() || on_extra_key.size() == T, at, "expected one of extra_key_weights per token");
  maps.weights.resize(static_cast<std::size_t>(maps.layers * maps.heads));
  Row& out = maps.weights[static_cast<std::size_t>(maps.chosen.layer * maps.heads + maps.chosen.head)];
  for (std::size_t i = 0; i < T; ++i) {
    if (maps.extra_key) out.push_back(on_extra_key[i]);
    out.insert(out.end(), weights.begin() + static_cast<std::ptrdiff_t>(i * T),
               weights.begin() + static_cast<std::ptrdiff_t>((i + 1) * T));
  }
  return maps;
}

// Keeps the loss only for text: losses on other inputs are not comparable.
void set_input_loss(Measurement& e) {
  if (std::isnan(e.loss)) return;
  e.scalar[kInputLoss] = e.loss;
  if (e.input != "text") e.loss = kNotMeasured;
}

void require_one_per_epsilon(const Measurement& e, const char* name, const Row& proxy, const Row& raw,
                             const std::string& file) {
  const std::size_t n = e.sink_epsilon.size();
  if (proxy.size() != n || raw.size() != n)
    damaged({file, name}, "expected one value per sink_epsilon (" + std::to_string(n) + "), got " +
                              std::to_string(proxy.size()) + " and (raw) " + std::to_string(raw.size()));
}

// "W8A8" as change_w8a8, "removed 1" as change_removed_1.
std::string change_key(const std::string& name, const Place& at) {
  std::string key = "change_";
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), digit = c >= '0' && c <= '9';
    if (!(letter || digit || c == ' ') || key.size() > kMaxNameLength)
      damaged(at, "expected names of letters, digits and spaces");
    key += c == ' ' ? '_' : letter ? static_cast<char>(c | 0x20) : c;
  }
  return key;
}

double at_epsilon(const Row& epsilons, const Row& values, double epsilon) {
  for (std::size_t i = 0; i < std::min(epsilons.size(), values.size()); ++i)
    if (std::abs(epsilons[i] - epsilon) < 1e-9) return values[i];
  return kNaN;
}

// Whether interventions are of this run, and of the input of its evaluation. Older files lack the seed and the data's
// checksum.
bool is_of_evaluation(const Reader& interventions, const Run& run) {
  const Measurement& e = *run.evaluation;
  const std::string data = interventions.text("measured_data_sha256", "");
  return interventions.text("ablation", run.ablation) == run.ablation &&
         interventions.text("policies", run.policies) == run.policies &&
         interventions.seed("seed", run.seed) == run.seed &&
         interventions.text("precision", run.precision) == run.precision &&
         interventions.integer("step", run.step) == run.step && interventions.text("input", e.input) == e.input &&
         interventions.integer("context", run.context) == run.context &&
         (data.empty() || e.data_sha256.empty() || data == e.data_sha256);
}

// Tables by layer and head have the shape of alpha_1, those of raw weights of their proxy.
void require_equal_heads(Measurement& e, const std::string& file) {
  const Table* proxy = nullptr;
  for_each_measure(e, [&]<class Value>(const Measure& measure, bool raw, double*, Value values) {
    if constexpr (std::is_same_v<Value, Table*>) {
      if (measure.axes != kByLayerHead) return;
      const Table &shape = raw ? *proxy : e.proxy.alpha_1_layer_head, &table = *(proxy = values);
      require((table.empty() && !raw) ||
                  (table.size() == shape.size() && (table.empty() || table[0].size() == shape[0].size())),
              {file, key_of(measure, raw, true)}, "expected as many layers and heads as of the proxy weights");
    }
  });
}

}  // namespace

double* Measurement::measure(const std::string& name) {
  double* found = nullptr;
  for_each_measure(*this, [&](const Measure& measure, bool raw, double* scalar, auto) {
    if (scalar && key_of(measure, raw, false) == name) found = scalar;
  });
  return found;
}

double Measurement::get(const std::string& name) const {
  if (const double* found = const_cast<Measurement*>(this)->measure(name)) return *found;
  const auto found = scalar.find(name);
  return found == scalar.end() ? kNaN : found->second;
}

double Measurement::sink_at(double epsilon, bool raw_weights) const {
  return at_epsilon(sink_epsilon, (raw_weights ? raw : proxy).sink_1, epsilon);
}

double Measurement::sink_star_at(double epsilon, bool raw_weights) const {
  return at_epsilon(sink_epsilon, (raw_weights ? raw : proxy).sink_star, epsilon);
}

double Measurement::whole_row_sum() const {
  if (extra == Extra::unknown) return kNaN;
  return row_sum + (extra == Extra::key ? extra_key_weight : 0);
}

std::int64_t Measurement::fewest_first_key_rows() const {
  return first_key_rows.empty() ? 0 : *std::ranges::min_element(first_key_rows);
}

Evaluation::Extra extra_named(const std::string& name) {
  const auto found = std::ranges::find(kExtraNames, name);
  return found == std::end(kExtraNames) ? Evaluation::Extra::unknown
                                        : static_cast<Evaluation::Extra>(found - std::begin(kExtraNames));
}

Measurement to_evaluation(const json& object, const std::string& file) {
  const Reader read{object, file};
  require(!read.has("attention_layers"), {file, "attention_layers"},
          "expected a model with attention in all layers, whose tables have a row for each");
  Measurement e;
  e.input = read.text("input", e.input);
  e.extra = extra_named(read.text("extra", kExtraNames[0]));
  e.data = read.text("data", e.data);
  e.data_sha256 = read.text("measured_data_sha256", "");
  e.input_sha256 = read.text("input_sha256", "");
  e.positions = read.text("positions", "");
  e.input_seed = read.seed("input_seed", 0);
  e.sink_epsilon = read.row("sink_epsilon");
  for (const double rows : read.row("first_key_rows"))
    e.first_key_rows.push_back(static_cast<std::int64_t>(std::clamp(std::isnan(rows) ? 0 : rows, 0.0, 1e15)));
  for_each_measure(e, [&]<class Value>(const Measure& measure, bool raw, double* scalar, Value values) {
    const std::string key = key_of(measure, raw, false), values_key = key_of(measure, raw, true);
    if (scalar && read.has(key.c_str())) *scalar = to_number(object[key], {file, key});
    if constexpr (std::is_same_v<Value, Row*>) {
      *values = read.row(values_key.c_str());
      if (scalar && std::isnan(*scalar)) *scalar = summary_of(measure, *values);
    } else if constexpr (std::is_same_v<Value, Table*>) {
      *values = read.table(values_key.c_str());
    }
  });
  set_input_loss(e);
  if (const Row& alphas = e.raw.alpha_k; alphas.size() > 1)
    e.scalar[kAlphaOthersRaw] =
        std::accumulate(alphas.begin() + 1, alphas.end(), 0.0) / static_cast<double>(alphas.size() - 1);
  require_one_per_epsilon(e, name_of(&SinkScores::sink_1), e.proxy.sink_1, e.raw.sink_1, file);
  if (e.proxy.has_star() || e.raw.has_star())
    require_one_per_epsilon(e, name_of(&SinkScores::sink_star), e.proxy.sink_star, e.raw.sink_star, file);
  require_equal_heads(e, file);
  if (read.has("maps"))
    e.maps = to_maps(object["maps"], file);
  else if (read.has("map"))
    e.maps = to_single_map(object["map"], e, file);
  if (e.maps && !e.proxy.alpha_1_layer_head.empty())
    require(e.maps->layers == static_cast<std::int64_t>(e.proxy.alpha_1_layer_head.size()) &&
                e.maps->heads == static_cast<std::int64_t>(e.proxy.alpha_1_layer_head[0].size()),
            {file, "maps"}, "expected as many layers and heads as alpha_1_layer_head");
  return e;
}

std::optional<LastMeasurement> last_measurement(const Curves& curves) {
  const auto measured = curves.find(name_of(&Evaluation::loss));
  if (measured == curves.end()) return std::nullopt;
  const auto at = [&](const std::string& name, std::size_t line) {
    const auto column = curves.find(name);
    return column == curves.end() ? kNaN : column->second[line];
  };
  // A line with a loss that is not finite is a measurement if it has a row sum.
  for (std::size_t line = measured->second.size(); line-- > 0;) {
    if (!std::isfinite(measured->second[line]) && !std::isfinite(at(name_of(&Evaluation::row_sum), line))) continue;
    LastMeasurement last{static_cast<std::int64_t>(curves.at("step")[line]), {}};
    Measurement& e = last.evaluation;
    e.sink_epsilon = {kSinkEpsilons[kPaperEpsilonIndex]};
    for_each_measure(e, [&]<class Value>(const Measure& measure, bool raw, double* scalar, Value values) {
      const std::string key = key_of(measure, raw, false);
      if (!curves.contains(key)) return;
      if (scalar) *scalar = at(key, line);
      if constexpr (std::is_same_v<Value, Row*>)
        if (!scalar) *values = {at(key, line)};  // at the threshold of the paper
    });
    set_input_loss(e);
    if (e.proxy.has_star())
      e.extra =
          curves.contains(name_of(&Evaluation::extra_key_weight)) ? Evaluation::Extra::key : Evaluation::Extra::token;
    return last;
  }
  return std::nullopt;
}

void set_onsets(Run& run) {
  constexpr const char *kSink = name_of(&SinkScores::sink_1), *kMassive = name_of(&Evaluation::largest_massive_ratio);
  if (!run.evaluation || !run.curves.contains(kSink) || !run.curves.contains(kMassive)) return;
  const auto first_step_above = [&](const char* name, double level) {
    const Row &values = run.curves.at(name), &step = run.curves.at("step");
    const auto above = std::ranges::find_if(values, [=](double value) { return value > level; });
    if (above == values.end()) return run.finished ? -1 : kNaN;  // it may still come
    return step[static_cast<std::size_t>(above - values.begin())];
  };
  run.evaluation->scalar["onset_sink_1"] = first_step_above(kSink, kOnsetSink);
  run.evaluation->scalar["onset_massive"] = first_step_above(kMassive, kOnsetMassive);
}

void read_interventions(const std::string& file, Run& run) {
  const json object = parse_json(read_file("report", file), {file, ""});
  const Place at{file, "interventions"};
  require(object.is_object() && object.contains("interventions") && object["interventions"].is_array(), at,
          "expected a list: the JSON of `eval_<ablation> interventions`");
  if (!is_of_evaluation({object, file}, run)) return;
  const json& list = object["interventions"];
  require(list.size() <= kMaxInterventions, at, "too long a list");
  for (const json& one : list) {
    require(one.is_object() && one.contains("change"), at, "expected objects with name and change");
    run.evaluation->scalar[change_key(Reader{one, file}.text("name", ""), at)] = to_number(one["change"], at);
  }
}

}  // namespace sink::report
