#include "train/birth_checkpoints.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "engine/io/checkpoint.h"
#include "engine/io/file.h"
#include "engine/io/str_format.h"
#include "train/resume.h"

namespace sink {
namespace {

namespace fs = std::filesystem;
constexpr const char* kAttribute = "largest_alpha";

// n of "step-<n>.h5"; nothing of another name.
std::optional<std::int64_t> step_of(const std::string& name) {
  std::int64_t step = 0;
  if (!name.starts_with("step-") || !name.ends_with(".h5")) return std::nullopt;
  const char *begin = name.data() + 5, *end = name.data() + name.size() - 3;
  const auto [stopped, error] = std::from_chars(begin, end, step);
  if (error != std::errc() || stopped != end || step < 1) return std::nullopt;
  return step;
}

void remove_birth_file(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) fail_io("remove", path, error.value());
  sync_folder(path);
}

}  // namespace

double largest_alpha(const Evaluation& evaluation) {
  double largest = evaluation.alpha_1_max;
  for (const auto& heads : evaluation.proxy.alpha_star_layer_head)
    for (double alpha : heads) largest = std::max(largest, alpha);
  return largest;
}

BirthCheckpoints::BirthCheckpoints(const std::string& run_folder, std::int64_t around, std::int64_t resumed_step,
                                   Progress& progress)
    : folder_(run_folder + "/birth"), around_(around), progress_(progress) {
  make_folders(folder_);
  for (const auto& entry : fs::directory_iterator(folder_))
    if (auto step = step_of(entry.path().filename().string())) steps_.insert(*step);
  while (!steps_.empty() && *steps_.rbegin() > resumed_step) {
    remove_birth_file(path_of(*steps_.rbegin()));
    steps_.erase(std::prev(steps_.end()));
  }
  for (std::int64_t step : steps_) {
    if (birth_) break;
    const Checkpoint checkpoint = load_checkpoint(path_of(step));
    if (std::strtod(checkpoint.attribute(kAttribute).c_str(), nullptr) > kBirthAlpha) birth_ = step;
  }
}

std::string BirthCheckpoints::path_of(std::int64_t step) const {
  return folder_ + "/step-" + std::to_string(step) + ".h5";
}

bool BirthCheckpoints::is_complete() const {
  return birth_ && std::distance(steps_.upper_bound(*birth_), steps_.end()) >= around_;
}

void BirthCheckpoints::on_step(TrainingRun& run, const StepResult& result, const Evaluation* evaluation) {
  if (!evaluation || is_complete()) return;
  const double alpha = largest_alpha(*evaluation);
  Checkpoint checkpoint = parameters_of(run);
  checkpoint.attributes[kAttribute] = str_format("%.17g", alpha);
  save_checkpoint(path_of(result.step), checkpoint);
  steps_.insert(result.step);
  if (!birth_ && alpha > kBirthAlpha) {
    birth_ = result.step;
    progress_.note("a head's alpha is " + str_format("%.3f", alpha) + " at step " + std::to_string(result.step) +
                   ": checkpoints around it are kept in " + folder_);
  }
  const auto until_birth = [&] {
    return std::distance(steps_.begin(), birth_ ? steps_.upper_bound(*birth_) : steps_.end());
  };
  while (until_birth() > around_) {
    remove_birth_file(path_of(*steps_.begin()));
    steps_.erase(steps_.begin());
  }
}

}  // namespace sink
