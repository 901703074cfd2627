#include "train/run_config_fields.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <limits>
#include <numeric>

#include "engine/check.h"
#include "engine/io/printable.h"
#include "engine/io/settings_toml.h"
#include "engine/io/utf8.h"

namespace sink {
namespace {

constexpr const char* kRunning = "Running";
constexpr std::uint64_t kLargestInteger = std::numeric_limits<std::int64_t>::max();  // of TOML
constexpr double kMillion = 1e6, kBillion = 1e9;

// A bound as people write it: 1000000, not 1e+06.
std::string plain(double bound) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.15g", bound);
  return buffer;
}

// Reads the whole of `text`, a leading + allowed.
template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  auto [stopped, error] = std::from_chars(begin, end, number);
  return error == std::errc() && stopped == end;
}

bool read_switch(const std::string& text, bool& value) {
  value = text == "true" || text == "1";
  return value || text == "false" || text == "0";
}

// Number of letters to insert, delete or replace (Levenshtein).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::vector<RunConfigField> make_fields() {
  using C = RunConfig;
  const char *model = "Model", *data = "Data", *optimiser = "Optimisation", *measuring = "Measuring and saving";
  auto one_of = [](std::vector<std::string> choices, RunConfigField field) {
    field.choices = std::move(choices);
    return field;
  };
  return {
      {"layers", model, &C::layers, "transformer blocks", 1, 1024},
      {"heads", model, &C::heads, "attention heads a layer; must divide the width", 1, 1024},
      {"width", model, &C::width, "C, numbers a token carries", 8, 65536},
      {"feed-forward", model, &C::feed_forward, "F, width inside the feed-forward block", 1, 262144},
      {"context", model, &C::context, "T, tokens a sequence", 2, 65536},
      {"kv-heads", model, &C::kv_heads,
       "heads of keys and values, shared by query heads; must divide heads, 0: as many", 0, 1024},
      {"window", model, &C::window, "keys a token sees, its own included (Gu et al., Figure 6); 0: no window", 0,
       65536},
      {"prefix", model, &C::prefix,
       "tokens every token sees; the loss ignores the first prefix-1 (Gu et al., section 6); 0: none", 0, 65535},
      one_of({"torch", "formula"},
             {"init", model, &C::init, "initial weights: torch's own, or the formula in the code"}),
      {"initial", model, &C::initial, "checkpoint whose parameters are the initial values, none: drawn (--init)"},
      one_of({"text", "bigram-backcopy"},
             {"task", data, &C::task, "natural text, or the synthetic task of Guo et al. 2024"}),
      {"data", data, &C::data, "folder made by `prepare`; needed for task text"},
      {"fixed-first-token", data, &C::fixed_first_token,
       "token id put first in every sequence, -1: none (Gu et al., Table 10)", -1, 2147483647},
      {"batch", data, &C::batch, "sequences a micro-batch", 1, 65536},
      {"accumulate", data, &C::accumulate, "micro-batches an optimiser step", 1, kMillion},
      {"seed", data, &C::seed, "of weights and of the order of the data"},
      {"steps", optimiser, &C::steps, "optimiser steps", 1, kBillion},
      {"learning-rate", optimiser, &C::learning_rate, "peak learning rate (Gu et al., Table 9)", 0, 100},
      one_of({"constant", "cosine"}, {"schedule", optimiser, &C::schedule, "learning rate after warm-up"}),
      {"min-learning-rate", optimiser, &C::min_learning_rate, "where cosine ends", 0, 100},
      {"warmup", optimiser, &C::warmup, "steps of linear warm-up from 0", 0, kBillion},
      {"beta1", optimiser, &C::beta1, "AdamW: decay of the gradient's mean", 0, 1, true},
      {"beta2", optimiser, &C::beta2, "AdamW: decay of the squared gradient's mean", 0, 1, true},
      {"adam-epsilon", optimiser, &C::adam_epsilon, "AdamW: added to the denominator", 0, 1},
      {"weight-decay", optimiser, &C::weight_decay, "decoupled, on all parameters (Gu et al., Table 2)", 0, 1000},
      {"clip", optimiser, &C::clip, "global gradient norm above which it is scaled, 0: never", 0, kBillion},
      one_of({"f32", "bf16", "f64"},
             {"precision", optimiser, &C::precision, "of matrix products; f64 runs the reference, for checks"}),
      {"reference", optimiser, &C::reference, "plain loops instead of the fast path; slow, made for stepping through"},
      {"threads", optimiser, &C::threads, "0: as many as there are cores", 0, 4096},
      {"nan-patience", optimiser, &C::nan_patience, "NaN steps skipped in a row before the run stops", 1, kBillion},
      {"eval-every", measuring, &C::eval_every, "steps between measurements of loss and sink", 1, kBillion},
      {"eval-sequences", measuring, &C::eval_sequences, "validation sequences measured", 1, kMillion},
      {"checkpoint-every", measuring, &C::checkpoint_every, "steps; also at the end and on SIGTERM, SIGINT, SIGUSR1", 1,
       kBillion},
      {"log-every", measuring, &C::log_every, "steps between progress lines where there is no terminal", 1, kBillion},
      {"run", kRunning, &C::run, "folder to write, such as runs/first"},
      {"resume", kRunning, &C::resume, "never, auto (from the run's checkpoint, if any) or a checkpoint"},
      {"force", kRunning, &C::force,
       "replace the run in an existing folder; it is kept in .replaced until the new one has its first checkpoint"},
      {"dry-run", kRunning, &C::dry_run, "print parameters, memory and FLOPs, then leave"},
  };
}

}  // namespace

bool RunConfigField::saved() const { return group != kRunning; }

std::string RunConfigField::environment() const {
  std::string name = "SINKLAB_";
  for (char c : flag) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string RunConfigField::expected() const {
  if (is_switch()) return "true or false";
  if (std::holds_alternative<std::uint64_t RunConfig::*>(member))
    return "a whole number from 0 to 18446744073709551615";
  if (std::holds_alternative<std::int64_t RunConfig::*>(member)) {
    return "a whole number from " + plain(low) + " to " + plain(high);
  }
  if (std::holds_alternative<double RunConfig::*>(member)) {
    return "a number from " + plain(low) + (open_high ? " to below " : " to ") + plain(high);
  }
  if (choices.empty()) return "text in UTF-8";
  std::string any;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) any += i + 1 == choices.size() ? " or " : ", ";
    any += choices[i];
  }
  return any;
}

std::string RunConfigField::kind() const {
  if (std::holds_alternative<double RunConfig::*>(member)) return "NUMBER";
  if (!std::holds_alternative<std::string RunConfig::*>(member)) return "INT";
  std::string any;
  for (const std::string& choice : choices) any += (any.empty() ? "" : "|") + choice;
  return any.empty() ? "TEXT" : any;
}

std::string RunConfigField::value(const RunConfig& config) const {
  return std::visit(
      [&](auto pointer) -> std::string {
        const auto& value = config.*pointer;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, bool>)
          return value ? "true" : "false";
        else if constexpr (std::is_same_v<Value, double>)
          return toml_number(value);
        else if constexpr (std::is_same_v<Value, std::string>)
          return toml_string(value);
        else if constexpr (std::is_same_v<Value, std::uint64_t>)  // beyond TOML's whole numbers as text
          return value > kLargestInteger ? toml_string(std::to_string(value)) : std::to_string(value);
        else
          return std::to_string(value);
      },
      member);
}

void RunConfigField::set(RunConfig& config, const std::string& text, const std::string& where) const {
  bool good = std::visit(
      [&](auto pointer) {
        using Value = std::decay_t<decltype(config.*pointer)>;
        Value value{};
        bool fits = false;
        if constexpr (std::is_same_v<Value, bool>) {
          fits = read_switch(text, value);
        } else if constexpr (std::is_same_v<Value, std::string>) {
          value = text;
          fits = choices.empty() ? utf8_valid_prefix(text) == text.size()
                                 : std::find(choices.begin(), choices.end(), text) != choices.end();
        } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
          fits = read_number(text, value);
        } else {
          fits = read_number(text, value);
          auto number = static_cast<double>(value);
          fits = fits && number >= low && (open_high ? number < high : number <= high);  // NaN fits nowhere
        }
        if (fits) config.*pointer = value;
        return fits;
      },
      member);
  if (good) return;
  constexpr std::size_t kShown = 200;  // bytes; a file can hold a value of any length
  std::string got = printable(text.substr(0, kShown));
  if (text.size() > kShown) got = std::string(utf8_prefix(got, kShown)) + "...";
  throw Error(where + " must be " + expected() + ", got `" + got + "`", Exit::usage);
}

const std::vector<RunConfigField>& run_config_fields() {
  static const std::vector<RunConfigField> fields = make_fields();
  return fields;
}

std::string did_you_mean(const std::string& name) {
  std::string dashes = name.substr(0, std::min(name.find_first_not_of('-'), name.size()));
  std::string nearest;
  std::size_t smallest = 2 + name.size() / 3;
  for (const RunConfigField& field : run_config_fields()) {
    std::size_t edits = distance(name, dashes + field.flag);
    if (edits >= smallest) continue;
    smallest = edits;
    nearest = dashes + field.flag;
  }
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

}  // namespace sink
