#include "train/run_log.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "engine/check.h"
#include "engine/io/bounded_json.h"
#include "engine/io/file.h"
#include "engine/io/str_format.h"

namespace sink {
namespace {

constexpr std::size_t kLongestLine = (std::size_t{1} << 20) + 18 * kMaxKeyAlphas;

std::string number(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  return str_format("%.9g", value);
}

template <class T>
std::string number(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + number(value);
  return "[" + text + "]";
}

// The line of a step, as a view of the file's text.
struct Line {
  std::int64_t step;
  double seconds, tokens_per_second;
  std::string_view text;  // with its end
};

// Empty if the text is not a line that RunLog writes.
std::optional<Line> read_line(std::string_view text) {
  if (text.size() > kLongestLine || json_depth(text, kDeepestJson + 1) > kDeepestJson) return std::nullopt;
  auto object = nlohmann::json::parse(text, nullptr, false);
  auto is = [&](const char* key, auto kind) { return object.contains(key) && (object[key].*kind)(); };
  using Json = nlohmann::json;
  if (!object.is_object() || !is("step", &Json::is_number_integer) || !is("tokens", &Json::is_number_integer) ||
      !is("seconds", &Json::is_number) || object["step"].get<std::int64_t>() < 1)
    return std::nullopt;
  const bool has_pace = is("tokens_per_second", &Json::is_number);
  return Line{object["step"].get<std::int64_t>(), object["seconds"].get<double>(),
              has_pace ? object["tokens_per_second"].get<double>() : 0, text};
}

// Ascending integers as (first, last) pairs of consecutive ones, so that a gap may have any length.
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

void add_range(Ranges& ranges, std::int64_t first, std::int64_t last) {
  if (!ranges.empty() && first <= ranges.back().second + 1)
    ranges.back().second = std::max(ranges.back().second, last);
  else
    ranges.emplace_back(first, last);
}

void add_ranges(Ranges& ranges, const Ranges& more) {
  for (auto [first, last] : more) add_range(ranges, first, last);
}

// "3, 8 to 12 and 40"; of more than ten such ranges the first ten.
std::string ranges_text(const Ranges& ranges) {
  std::vector<std::string> texts;
  std::int64_t more = 0;
  for (auto [first, last] : ranges) {
    if (texts.size() == 10)
      more += last - first + 1;
    else
      texts.push_back(std::to_string(first) + (last > first ? " to " + std::to_string(last) : ""));
  }
  if (more > 0) texts.push_back(std::to_string(more) + " more");
  std::string text;
  for (std::size_t i = 0; i < texts.size(); ++i)
    text += (i == 0 ? "" : i + 1 < texts.size() ? ", " : " and ") + texts[i];
  return text;
}

// The contents of a log up to the step from which a run resumes.
struct Contents {
  std::vector<Line> lines;           // by step, each once
  Ranges damaged, doubled, missing;  // damaged: lines; the others: steps
  bool disordered = false;

  bool needs_repair() const { return !damaged.empty() || !doubled.empty() || disordered; }
};

void sort_lines(Contents& found) {
  auto before = [](const Line& a, const Line& b) { return a.step < b.step; };
  found.disordered |= !std::is_sorted(found.lines.begin(), found.lines.end(), before);
  std::stable_sort(found.lines.begin(), found.lines.end(), before);
  std::vector<Line> once;
  for (const Line& line : found.lines) {
    if (once.empty() || once.back().step != line.step) {
      once.push_back(line);
      continue;
    }
    add_range(found.doubled, line.step, line.step);
    once.back() = line;
  }
  found.lines = std::move(once);
}

Contents contents_of(std::string_view text, std::int64_t last_step, bool last_comes) {
  Contents found;
  Ranges strange;       // since the last line of ours
  bool behind = false;  // a line of a later step was met: from there on all is dropped
  for (std::int64_t number = 1; !text.empty(); ++number) {
    std::size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // no line end: the run was killed while it wrote
    std::optional<Line> line = read_line(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
    if (!line) {
      add_range(strange, number, number);
    } else if (line->step > last_step) {
      if (!behind) add_ranges(found.damaged, strange);
      strange.clear();
      behind = true;
    } else {
      found.disordered |= behind;
      add_ranges(found.damaged, strange);
      strange.clear();
      found.lines.push_back(*line);
    }
  }
  if (!behind) add_ranges(found.damaged, strange);
  sort_lines(found);
  std::int64_t next = 1;
  for (const Line& line : found.lines) {
    if (next < line.step) add_range(found.missing, next, line.step - 1);
    next = line.step + 1;
  }
  const std::int64_t last_expected = last_step - (last_comes ? 1 : 0);
  if (next <= last_expected) add_range(found.missing, next, last_expected);
  return found;
}

std::string describe(const Contents& found, const std::string& path, const std::string& kept_as) {
  std::string text;
  auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (!found.damaged.empty()) add("damaged lines " + ranges_text(found.damaged));
  if (!found.doubled.empty()) add("doubled steps " + ranges_text(found.doubled));
  if (found.disordered) add("lines out of order");
  if (found.needs_repair()) text += ": repaired, and kept as it was as " + kept_as;
  if (!found.missing.empty())
    text += (text.empty() ? "" : "; ") + std::string("no lines of steps ") + ranges_text(found.missing) +
            ", which cannot be made again";
  return path + ": " + text;
}

std::string free_name_beside(const std::string& path) {
  namespace fs = std::filesystem;
  fs::path stem = fs::path(path).replace_extension();
  for (int n = 1;; ++n) {
    std::string name = stem.string() + ".damaged-" + std::to_string(n) + ".jsonl";
    if (!fs::exists(fs::symlink_status(name))) return name;  // a link counts, wherever it leads
  }
}

// The lines to keep, as one text.
std::string kept_text(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) text += line.text;
  return text;
}

}  // namespace

std::vector<std::pair<std::string, double>> values_of(const Evaluation& e) {
  std::vector<std::pair<std::string, double>> found;
  for_each_measure(e, [&](const Measure& measure, bool raw, const double* scalar, auto values) {
    if (!is_known(measure, scalar, values)) return;
    if (scalar) found.emplace_back(key_of(measure, raw, false), *scalar);
    if constexpr (std::is_same_v<decltype(values), const std::vector<double>*>)
      if (measure.axes == kByEpsilon) found.emplace_back(key_of(measure, raw, true), (*values)[kPaperEpsilonIndex]);
  });
  return found;
}

void require_line_length(std::int64_t key_alpha_every, std::int64_t alphas) {
  if (key_alpha_every == 0 || alphas <= kMaxKeyAlphas) return;
  throw Error("--key-alpha-every " + std::to_string(key_alpha_every) + " writes layers times heads times --context, " +
                  std::to_string(alphas) + " values, in one line of metrics.jsonl, expected at most " +
                  std::to_string(kMaxKeyAlphas) + ": leave it out, and measure checkpoints by eval_* sink",
              Exit::usage);
}

std::string to_json(const StepRecord& record) {
  std::string line = "{\"step\": " + std::to_string(record.step) + ", \"tokens\": " + std::to_string(record.tokens);
  auto add = [&](const std::string& key, const auto& value) { line += ", \"" + key + "\": " + number(value); };
  add("seconds", record.seconds);
  add("tokens_per_second", record.tokens_per_second);
  add("learning_rate", record.learning_rate);
  add("train_loss", record.train_loss);
  add("grad_norm", record.grad_norm);
  if (record.skipped) line += ", \"skipped\": true";
  if (record.evaluation) {
    for (const auto& [key, value] : values_of(*record.evaluation)) add(key, value);
  }
  if (record.key_alpha) {
    add("train_alpha_layer_head_k", record.key_alpha->alpha_layer_head_k);
    if (!record.key_alpha->alpha_star_layer_head.empty())
      add("train_alpha_star_layer_head", record.key_alpha->alpha_star_layer_head);
  }
  return line + "}";
}

RunLog::RunLog(const std::string& path, std::int64_t resumed_step, bool last_comes) : path_(path) {
  std::error_code ignored;
  const auto type = std::filesystem::symlink_status(path, ignored).type();
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found)
    throw Error(path +
                    " is a link or a special file; expected a file of the run's own folder: remove it, or choose "
                    "another folder",
                Exit::bad_input);
  std::int64_t bytes = resumed_step < 0 ? 0 : look_through(resumed_step, last_comes);
  descriptor_ = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (descriptor_ < 0) fail_io("write", path, errno);
  drop_after(bytes);
}

std::int64_t RunLog::look_through(std::int64_t last_step, bool last_comes) {
  std::string before = std::filesystem::exists(path_) ? read_file("metrics", path_) : "";
  Contents found = contents_of(before, last_step, last_comes);
  if (!found.lines.empty()) {
    seconds_ = found.lines.back().seconds;
    tokens_per_second_ = found.lines.back().tokens_per_second;
    last_step_ = found.lines.back().step;
  }
  std::string kept_as = found.needs_repair() ? free_name_beside(path_) : "";
  if (found.needs_repair() || !found.missing.empty()) note_ = describe(found, path_, kept_as);
  std::string lines = kept_text(found.lines);
  if (found.needs_repair()) {
    write_file_atomically(kept_as, before);
    write_file_atomically(path_, lines);
  }
  return static_cast<std::int64_t>(lines.size());
}

void RunLog::write(const StepRecord& record) {
  std::string line = to_json(record) + "\n";
  if (int error = write_all(descriptor_, line.data(), line.size())) {
    drop_after(bytes_);
    fail_io("write", path_, error);
  }
  bytes_ += static_cast<std::int64_t>(line.size());
}

void RunLog::sync() {
  if (::fsync(descriptor_) != 0) fail_io("flush", path_, errno);
}

void RunLog::drop_after(std::int64_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail_io("shorten", path_, errno);
  bytes_ = bytes;
}

}  // namespace sink
