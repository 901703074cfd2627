#include "train/run_log.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "engine/file.h"

namespace sink {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

// The step and clock of a line, or nothing when it is not one of ours.
struct Stamp {
  std::int64_t step;
  double seconds;
};
std::optional<Stamp> stamp_of(const std::string& line) {
  auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) return std::nullopt;
  auto seconds = object.find("seconds");
  return Stamp{object["step"].get<std::int64_t>(),
               seconds != object.end() && seconds->is_number() ? seconds->get<double>() : 0};
}

// The lines of steps <= `last_step` at the front of the file: their length, and the clock of the last.
struct Kept {
  std::int64_t bytes = 0;
  double seconds = 0;
};
Kept lines_to_keep(const std::string& path, std::int64_t last_step) {
  std::ifstream file(path, std::ios::binary);
  Kept kept;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (file.eof()) break;  // no line end: the run was killed while it wrote
    std::optional<Stamp> stamp = stamp_of(line);
    if (!stamp) {
      throw Error(
          path + " line " + std::to_string(number) + " is not a step of a run; repair or move the file, then resume",
          Exit::bad_input);
    }
    if (stamp->step > last_step) break;
    kept = {kept.bytes + static_cast<std::int64_t>(line.size()) + 1, stamp->seconds};
  }
  return kept;
}

}  // namespace

std::string to_json(const StepRecord& record) {
  std::string line = "{\"step\": " + std::to_string(record.step) + ", \"tokens\": " + std::to_string(record.tokens);
  auto add = [&](const char* key, double value) { line += std::string(", \"") + key + "\": " + number(value); };
  add("seconds", record.seconds);
  add("tokens_per_second", record.tokens_per_second);
  add("learning_rate", record.learning_rate);
  add("train_loss", record.train_loss);
  add("grad_norm", record.grad_norm);
  if (record.skipped) line += ", \"skipped\": true";
  if (record.evaluation) {
    const EvalRecord& evaluation = *record.evaluation;
    add("val_loss", evaluation.val_loss);
    add("sink_1", evaluation.sink_1);
    add("sink_1_raw", evaluation.sink_1_raw);
    add("alpha_1", evaluation.alpha_1);
    add("alpha_1_raw", evaluation.alpha_1_raw);
    add("alpha_1_max", evaluation.alpha_1_max);
    if (const auto& star = evaluation.star) {
      add("sink_star", star->sink);
      add("sink_star_raw", star->sink_raw);
      add("alpha_star", star->alpha);
      add("alpha_star_raw", star->alpha_raw);
      if (star->slot_mass) add("slot_mass", *star->slot_mass);
    }
    add("row_mass", evaluation.row_mass);
    add("first_value_norm_ratio", evaluation.first_value_norm_ratio);
  }
  return line + "}";
}

RunLog::RunLog(const std::string& path, std::int64_t resumed_step) : path_(path) {
  Kept kept = resumed_step < 0 ? Kept{} : lines_to_keep(path, resumed_step);
  seconds_ = kept.seconds;
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail_io("write", path, errno);
  drop_after(kept.bytes);
}

RunLog::~RunLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
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
