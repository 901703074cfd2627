#include "train/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/io/printable.h"
#include "engine/io/str_format.h"

namespace sink {
namespace {

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr int kUnlimited = 1 << 20;

bool is_terminal() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour && *no_colour) return false;
  return ::isatty(STDERR_FILENO) && terminal && *terminal && std::strcmp(terminal, "dumb") != 0;
}

int terminal_width() {
  winsize size = {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string rate(double per_second) {
  if (per_second >= 1e6) return str_format("%.2fM tok/s", per_second / 1e6);
  if (per_second >= 1e3) return str_format("%.1fk tok/s", per_second / 1e3);
  return str_format("%.0f tok/s", per_second);
}

}  // namespace

std::string duration(double seconds) {
  if (seconds >= 1e9) return "over 30 years";
  auto whole = static_cast<long long>(std::llround(std::fmin(std::fmax(seconds, 0), 1e9)));
  if (whole < 60) return str_format("%llds", whole);
  if (whole < 3600) return str_format("%lldm%02llds", whole / 60, whole % 60);
  if (whole < 86400) return str_format("%lldh%02lldm", whole / 3600, whole / 60 % 60);
  return str_format("%lldd%02lldh", whole / 86400, whole / 3600 % 24);
}

std::string progress_line(const StepRecord& record, std::int64_t steps, const std::optional<Evaluation>& measured,
                          double seconds_left, int width) {
  auto step = static_cast<long long>(record.step), all = static_cast<long long>(steps);
  std::string parts[] = {
      str_format("step %lld/%lld", step, all),
      str_format("%lld%%", all > 0 ? 100 * step / all : 100),
      record.skipped                  ? "loss nan, step skipped"
      : std::isnan(record.train_loss) ? "no targets in this step"
                                      : str_format("loss %.4f", record.train_loss),
      measured ? str_format("sink_1 %.1f%%", measured->proxy.sink_1[kPaperEpsilonIndex]) : "",
      measured && measured->proxy.has_star()
          ? str_format("sink_* %.1f%%", measured->proxy.sink_star[kPaperEpsilonIndex])
          : "",
      rate(record.tokens_per_second),
      seconds_left < 0 ? "" : duration(seconds_left) + " left",
  };
  std::string line;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    std::string longer = line + (line.empty() ? "" : "  ") + part;
    if (static_cast<int>(longer.size()) > width) break;
    line = longer;
  }
  return line;
}

std::string evaluation_line(const StepRecord& record) {
  const Evaluation& e = *record.evaluation;
  const SinkScores &proxy = e.proxy, &raw = e.raw;
  const bool star = proxy.has_star(), key = e.extra == Evaluation::Extra::key;
  const std::size_t at = kPaperEpsilonIndex;
  std::string line = str_format("step %lld: val loss %.4f, sink_1 %.2f%% (raw %.2f%%)",
                                static_cast<long long>(record.step), e.loss, proxy.sink_1[at], raw.sink_1[at]);
  if (star) line += str_format(", sink_* %.2f%% (raw %.2f%%)", proxy.sink_star[at], raw.sink_star[at]);
  line += str_format(", alpha_1 %.4f (max %.4f)", proxy.alpha_1, e.alpha_1_max);
  if (star) line += str_format(", alpha_* %.4f (raw %.4f)", proxy.alpha_star, raw.alpha_star);
  line += str_format(", row sum %.3f", e.row_sum + (key ? e.extra_key_weight : 0));
  if (key) line += str_format(", of it %.3f on the extra key", e.extra_key_weight);
  return line;
}

Progress::Progress(std::int64_t steps, std::int64_t log_every, bool silent)
    : steps_(steps), log_every_(log_every), silent_(silent), redraws_(is_terminal()) {}

Progress::~Progress() { end_line(); }

void Progress::end_line() {
  if (drawn_) std::fputc('\n', stderr);
  drawn_ = false;
}

void Progress::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void Progress::note(const std::string& line) {
  if (silent_) return;
  clear();
  std::fprintf(stderr, "%s\n", printable(line).c_str());
}

double Progress::seconds_left(std::int64_t step) {
  if (first_step_ < 0) {
    first_step_ = step;
    first_time_ = Clock::now();
  }
  if (step <= first_step_ || step >= steps_) return -1;
  double elapsed = std::chrono::duration<double>(Clock::now() - first_time_).count();
  return elapsed / static_cast<double>(step - first_step_) * static_cast<double>(steps_ - step);
}

void Progress::show(const StepRecord& record) {
  if (silent_) return;
  double left = seconds_left(record.step);
  bool last = record.step >= steps_;
  if (record.evaluation) {
    measured_ = record.evaluation;
    if (last) note(evaluation_line(record));
  }
  if (!redraws_) {
    if (record.step % log_every_ == 0 || last) { note(progress_line(record, steps_, measured_, left, kUnlimited)); }
    return;
  }
  auto now = Clock::now();
  if (!last && drawn_ && now - last_drawn_ < kRedrawInterval) return;
  last_drawn_ = now;
  // One column stays free: a terminal may wrap when the last one is written.
  std::string line = progress_line(record, steps_, measured_, left, terminal_width() - 1);
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace sink
