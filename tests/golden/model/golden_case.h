// GoldenCase: one case of cases.safetensors, which make_golden.py writes, its model, how the two are compared, and the
// settings of its training.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/built_ablations.h"
#include "tests/support/compare.h"
#include "tests/support/expected_values.h"
#include "train/training_run.h"

namespace sink {

// unit() of make_golden.py: element n of the stream of this name, a multiple of 2^-15 in [-1, 1).
class UnitStream {
 public:
  explicit UnitStream(const std::string& name) {  // FNV-1a
    for (char c : name) state_ = (state_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  double operator()(std::int64_t n) const {  // SplitMix64
    std::uint64_t z = state_ + (static_cast<std::uint64_t>(n) + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (static_cast<double>(z >> 48) - 32768) / 32768;
  }

 private:
  std::uint64_t state_ = 14695981039346656037u;
};

struct GoldenParameter {
  std::string name;
  double offset, scale;  // initial values are offset + scale * unit
  Shape shape;
};

class GoldenCase {
 public:
  explicit GoldenCase(const std::string& name) : name(name), ablation(cases().text(name + "/ablation")) {
    std::istringstream settings(cases().text(name + "/settings")), table(cases().text(name + "/parameters"));
    std::string word, line;
    for (double value; settings >> word >> value;) settings_[word] = value;
    while (std::getline(table, line)) {
      std::istringstream columns(line);
      GoldenParameter parameter;
      columns >> parameter.name >> parameter.offset >> parameter.scale;
      for (std::int64_t size; columns >> size;) parameter.shape.append(size);
      parameters.push_back(parameter);
    }
    tokens = expected("tokens");
    targets = expected("targets");
  }

  Tensor expected(const std::string& value) const { return cases().tensor(name + "/" + value); }
  bool has(const std::string& value) const { return cases().has(name + "/" + value); }

  // The names of all cases, sorted.
  static std::vector<std::string> all() {
    std::vector<std::string> names;
    for (const MetadataValue& text : cases().file().metadata())
      if (text.key.ends_with("/ablation")) names.emplace_back(text.key.substr(0, text.key.find('/')));
    return names;
  }

  double setting(const std::string& name) const { return settings_.at(name); }
  double optional(const std::string& name) const { return settings_.contains(name) ? setting(name) : 0; }
  std::int64_t size(const std::string& name) const { return static_cast<std::int64_t>(setting(name)); }

  Sizes sizes() const {
    return {.layers = size("layers"),
            .heads = size("heads"),
            .width = size("width"),
            .feed_forward = size("feed_forward"),
            .context = size("context"),
            .vocabulary = size("vocabulary"),
            .kv_heads = size("kv_heads"),
            .window = size("window"),
            .prefix = size("prefix"),
            .global_every = static_cast<std::int64_t>(optional("global_every")),
            .norm_epsilon = optional("norm_epsilon"),
            .attention_scale = optional("attention_scale"),
            .rotary_base = optional("rotary_base"),
            .rotary_part = optional("rotary_part"),
            .rotary_factor = optional("rotary_factor"),
            .rotary_local_base = optional("rotary_local_base"),
            .rotary_context = static_cast<std::int64_t>(optional("rotary_context")),
            .no_rope_every = static_cast<std::int64_t>(optional("no_rope_every")),
            .experts = static_cast<std::int64_t>(optional("experts")),
            .chosen_experts = static_cast<std::int64_t>(optional("chosen_experts")),
            .shared_feed_forward = static_cast<std::int64_t>(optional("shared_feed_forward")),
            .attention_every = static_cast<std::int64_t>(optional("attention_every")),
            .delta_heads = static_cast<std::int64_t>(optional("delta_heads")),
            .delta_key_heads = static_cast<std::int64_t>(optional("delta_key_heads")),
            .delta_key_width = static_cast<std::int64_t>(optional("delta_key_width")),
            .delta_value_width = static_cast<std::int64_t>(optional("delta_value_width")),
            .convolution = static_cast<std::int64_t>(optional("convolution"))};
  }

  Batch batch() const { return {tokens, targets, size("vocabulary")}; }

  // The model of this case with its initial values.
  std::unique_ptr<LanguageModel> model(DType type) const {
    auto model = ablation_named(ablation).make_model(sizes(), InitScheme::torch, 0, type);
    set_initial_values(*model);
    return model;
  }

  // Throws Error where the model's parameters are not those of the case.
  void set_initial_values(LanguageModel& model) const {
    std::map<std::string, const GoldenParameter*> expected;
    for (const GoldenParameter& parameter : parameters) expected[parameter.name] = &parameter;
    for (const auto& parameter : model.parameters()) {
      const std::string& of = parameter->name();
      SINK_CHECK(expected.count(of), "golden", name + ": the model has a parameter more, " + of);
      const GoldenParameter& golden = *expected[of];
      SINK_CHECK(
          golden.shape == parameter->master().shape(), "golden",
          name + ": " + of + " has shape " + parameter->master().shape().str() + ", expected " + golden.shape.str());
      parameter->mutable_master().copy_from(initial_values(golden));
      expected.erase(of);
    }
    SINK_CHECK(expected.empty(), "golden", name + ": the model lacks the parameter " + expected.begin()->first);
    model.parameters().refresh();
  }

  // Checks values against their summary, which starts at element `first` of the dataset and is then passed: a few
  // values are all there; of many there is a sample, the Euclidean norm and a weighted sum, and errors are measured
  // against that norm.
  void check_summary(const std::string& what, const Tensor& actual, const Tensor& dataset, std::int64_t& first,
                     double relative) const {
    std::int64_t n = actual.size(), samples = size("sample");
    bool whole = n <= samples;
    std::int64_t stored = whole ? n : samples;
    auto expected = [&](std::int64_t i) { return dataset.item(first + i); };
    double norm = 0, weighted = 0, squares = 0;
    UnitStream weight("sum of " + what);
    for (std::int64_t i = 0; i < n; ++i) {
      squares += actual.item(i) * actual.item(i);
      weighted += actual.item(i) * weight(i);
    }
    for (std::int64_t i = 0; whole && i < n; ++i) norm += expected(i) * expected(i);
    norm = whole ? std::sqrt(norm) : expected(samples);
    // A single element may carry the whole error; ones that are zero by cancellation are not asked for digits.
    double tolerance = relative * norm;
    for (std::int64_t k = 0; k < stored; ++k) {
      std::int64_t i = whole ? k : k * n / samples;
      double error = std::abs(actual.item(i) - expected(k));
      CHECK_MESSAGE(error <= tolerance, name, ": ", what, " at ", index_text(actual.shape(), i), ": expected ",
                    expected(k), ", got ", actual.item(i), ", off by ", error, ", tolerance ", tolerance);
    }
    if (!whole) {
      double norm_error = std::abs(std::sqrt(squares) - norm), sum_error = std::abs(weighted - expected(samples + 1));
      CHECK_MESSAGE(norm_error <= tolerance, name, ": norm of ", what, ": expected ", norm, ", got ",
                    std::sqrt(squares), ", off by ", norm_error, ", tolerance ", tolerance);
      CHECK_MESSAGE(sum_error <= tolerance, name, ": weighted sum of ", what, ": expected ", expected(samples + 1),
                    ", got ", weighted, ", off by ", sum_error, ", tolerance ", tolerance);
    }
    first += whole ? n : samples + 2;
  }

  const std::string name;
  const std::string ablation;
  std::vector<GoldenParameter> parameters;
  Tensor tokens, targets;

 private:
  static const ExpectedValues& cases() {
    static const ExpectedValues file("model/cases.safetensors");
    return file;
  }

  static Tensor initial_values(const GoldenParameter& parameter) {
    UnitStream unit(parameter.name);
    Tensor values = Tensor::empty(parameter.shape, DType::F64);
    for (std::int64_t n = 0; n < values.size(); ++n)
      values.data<double>()[n] = parameter.offset + parameter.scale * unit(n);
    return values;
  }

  std::map<std::string, double> settings_;
};

// f(case) for every case of an ablation that is built. What it throws is a failure of that case alone.
template <class F>
void for_each_golden_case(F&& f) {
  for (const std::string& name : GoldenCase::all()) {
    try {
      GoldenCase golden(name);
      if (test::is_built(golden.ablation)) f(golden);
    } catch (const std::exception& error) { FAIL_CHECK(name, ": ", error.what()); }
  }
}

// The same batch in every step.
class OneBatch : public DataSource {
 public:
  explicit OneBatch(const Batch& batch) : batch_(batch) {}
  std::int64_t vocabulary() const override { return batch_.vocabulary(); }
  Batch train_batch(std::int64_t, std::int64_t, std::int64_t) const override { return batch_; }
  Batch validation_batch(std::int64_t, std::int64_t) const override { return batch_; }
  std::int64_t validation_sequences() const override { return batch_.sequences(); }
  std::string token_text(std::int32_t id) const override { return std::to_string(id); }
  std::int64_t train_tokens() const override { return 0; }

 private:
  Batch batch_;
};

// Without warm-up. What the optimiser is told is the caller's.
inline RunConfig golden_config(const GoldenCase& golden, DType type) {
  RunConfig config;
  static_cast<Sizes&>(config) = golden.sizes();
  config.precision = name_of(type);
  config.warmup = 0;
  return config;
}

}  // namespace sink
