#include "train/tensorboard_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "engine/io/file.h"
#include "engine/io/str_format.h"
#include "engine/io/tensorboard_events.h"
#include "train/step_report.h"

namespace sink {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// The name of a key of metrics.jsonl, with its card.
std::string scalar_name(const std::string& key) {
  if (key == name_of(&Evaluation::loss)) return "loss/validation";
  return (key.starts_with("sink_") || key.starts_with("alpha_") ? "sink/" : "attention/") + key;
}

}  // namespace

TensorboardLog::TensorboardLog(const std::string& folder, std::int64_t resumed_step, Progress& progress)
    : progress_(progress) {
  double time = now();
  // TensorBoard reads the files of a folder in the order of their names.
  path_ = folder + str_format("/events.out.tfevents.%010.0f.%06d.sinklab", time, ::getpid());
  descriptor_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666));
  if (descriptor_ < 0)
    progress_.note("note: no TensorBoard file " + path_ + ": " + std::strerror(errno));
  else
    write(tensorboard_header(time) + tensorboard_start(time, resumed_step + 1));
}

void TensorboardLog::on_step(TrainingRun& run, const StepResult& result, const Evaluation* evaluation) {
  if (descriptor_ < 0) return;
  double tokens = static_cast<double>(run.config().tokens_per_step());
  std::vector<std::pair<std::string, double>> scalars{{"loss/train", result.loss},
                                                      {"training/gradient_norm", result.gradient_norm},
                                                      {"training/learning_rate", result.learning_rate}};
  if (result.seconds > 0) scalars.push_back({"training/tokens_per_second", tokens / result.seconds});
  if (evaluation)
    for (const auto& [key, value] : values_of(*evaluation)) scalars.emplace_back(scalar_name(key), value);
  write(tensorboard_scalars(now(), result.step, scalars));
}

void TensorboardLog::write(const std::string& bytes) {
  int error = write_all(descriptor_, bytes.data(), bytes.size());
  if (error == 0) return;
  progress_.note("note: " + path_ + " ends here: " + std::strerror(error) + "; metrics.jsonl continues");
  descriptor_.close();
}

}  // namespace sink
