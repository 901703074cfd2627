#include "train/tensorboard_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "engine/io/file.h"
#include "engine/io/tensorboard_events.h"
#include "train/step_report.h"

namespace sink {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

using Scalars = std::vector<std::pair<std::string, double>>;

void add(Scalars& scalars, const EvalRecord& e) {
  scalars.insert(scalars.end(), {{"loss/validation", e.val_loss},
                                 {"sink/sink_1", e.sink_1},
                                 {"sink/sink_1_raw", e.sink_1_raw},
                                 {"sink/alpha_1", e.alpha_1},
                                 {"sink/alpha_1_raw", e.alpha_1_raw},
                                 {"sink/alpha_1_max", e.alpha_1_max},
                                 {"attention/row_mass", e.row_mass},
                                 {"attention/first_value_norm_ratio", e.first_value_norm_ratio}});
  if (!e.star) return;
  scalars.insert(scalars.end(), {{"sink/sink_star", e.star->sink},
                                 {"sink/sink_star_raw", e.star->sink_raw},
                                 {"sink/alpha_star", e.star->alpha},
                                 {"sink/alpha_star_raw", e.star->alpha_raw}});
  if (e.star->extra_key_mass) scalars.push_back({"attention/extra_key_mass", *e.star->extra_key_mass});
}

}  // namespace

TensorboardLog::TensorboardLog(const std::string& folder, std::int64_t resumed_step, Progress& progress)
    : progress_(progress) {
  double time = now();
  char name[96];  // TensorBoard reads the files of a folder in the order of their names
  std::snprintf(name, sizeof name, "/events.out.tfevents.%010.0f.%06lld.sinklab", time,
                static_cast<long long>(::getpid()));
  path_ = folder + name;
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    progress_.note("note: no TensorBoard file " + path_ + ": " + std::strerror(errno));
  else
    write(tensorboard_header(time) + tensorboard_start(time, resumed_step + 1));
}

TensorboardLog::~TensorboardLog() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TensorboardLog::on_step(TrainingRun& run, const StepResult& result, const Evaluation* evaluation) {
  if (descriptor_ < 0) return;
  double tokens = static_cast<double>(run.config().tokens_per_step());
  Scalars scalars{{"loss/train", result.loss},
                  {"training/gradient_norm", result.gradient_norm},
                  {"training/learning_rate", result.learning_rate}};
  if (result.seconds > 0) scalars.push_back({"training/tokens_per_second", tokens / result.seconds});
  if (evaluation) add(scalars, record_of(*evaluation));
  write(tensorboard_scalars(now(), result.step, scalars));
}

void TensorboardLog::write(const std::string& bytes) {
  int error = write_all(descriptor_, bytes.data(), bytes.size());
  if (error == 0) return;
  progress_.note("note: " + path_ + " ends here: " + std::strerror(error) + "; metrics.jsonl goes on");
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace sink
