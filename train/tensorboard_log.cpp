#include "train/tensorboard_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "engine/io/file.h"
#include "engine/io/str_format.h"
#include "train/step_report.h"

namespace sink {
namespace {

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int n = 0; n < bytes; ++n) text += static_cast<char>(value >> (8 * n) & 0xff);
  return text;
}

// Protobuf's wire format: a field is its number and kind, then its value.
enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}
std::string key(std::uint64_t field, Wire wire) { return varint(field << 3 | static_cast<std::uint64_t>(wire)); }
std::string field(std::uint64_t number, std::uint64_t value) { return key(number, Wire::varint) + varint(value); }
std::string field(std::uint64_t number, double value) {
  return key(number, Wire::fixed64) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}
std::string field(std::uint64_t number, float value) {
  return key(number, Wire::fixed32) + little_endian(std::bit_cast<std::uint32_t>(value), 4);
}
std::string field(std::uint64_t number, const std::string& value) {
  return key(number, Wire::bytes) + varint(value.size()) + value;
}

// TensorBoard masks CRCs, because a CRC of data that contains CRCs detects fewer errors.
std::uint32_t masked(std::uint32_t crc) { return (crc >> 15 | crc << 17) + 0xa282ead8u; }

std::string record(const std::string& message) {
  std::string length = little_endian(message.size(), 8);
  return length + little_endian(masked(crc32c(length)), 4) + message + little_endian(masked(crc32c(message)), 4);
}

// An Event of event.proto.
constexpr std::uint64_t kTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;

std::string step_field(std::int64_t step) {
  return step == 0 ? "" : field(kStep, static_cast<std::uint64_t>(step));  // zero is not written
}

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// The name of a key of metrics.jsonl, with its card.
std::string scalar_name(const std::string& key) {
  if (key == name_of(&Evaluation::loss)) return "loss/validation";
  return (key.starts_with("sink_") || key.starts_with("alpha_") ? "sink/" : "attention/") + key;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      table[n] = n;
      for (int bit = 0; bit < 8; ++bit) table[n] = table[n] >> 1 ^ (table[n] & 1 ? 0x82f63b78u : 0);
    }
    return table;
  }();
  std::uint32_t crc = ~0u;
  for (char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

std::string tensorboard_header(double time) {
  return record(field(kTime, time) + field(kFileVersion, std::string("brain.Event:2")));
}

std::string tensorboard_start(double time, std::int64_t step) {
  constexpr std::uint64_t kStatus = 1, kStart = 1;
  return record(field(kTime, time) + step_field(step) + field(kSessionLog, field(kStatus, kStart)));
}

std::string tensorboard_scalars(double time, std::int64_t step,
                                const std::vector<std::pair<std::string, double>>& scalars) {
  constexpr std::uint64_t kValue = 1, kTag = 1, kSimpleValue = 2;
  std::string summary;
  for (const auto& [name, value] : scalars)
    summary += field(kValue, field(kTag, name) + field(kSimpleValue, static_cast<float>(value)));
  return record(field(kTime, time) + step_field(step) + field(kSummary, summary));
}

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
