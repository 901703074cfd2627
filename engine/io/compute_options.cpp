#include "engine/io/compute_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "engine/implementation.h"
#include "engine/io/printable.h"
#include "engine/io/setting.h"
#include "engine/precision.h"
#include "engine/threads.h"

namespace sink {

std::int64_t ComputeOptions::batch_of(std::int64_t T, std::int64_t C) const {
  constexpr std::int64_t kFewest = 512, kMost = 4096, kNumbers = 1 << 19;
  const std::int64_t tokens = std::clamp(kNumbers / std::max<std::int64_t>(1, C), kFewest, kMost);
  return batch > 0 ? batch : std::max<std::int64_t>(1, tokens / T);
}

void ComputeOptions::apply() const {
  check_device(device, precision, reference);
  use_reference() = reference;
  use_tf32() = precision == "tf32";
  use_int8() = precision == "int8";
  start_threads(threads);
}

void check_device(const std::string& device, const std::string& precision, bool reference) {
  if (device == "cpu" && precision == "tf32")
    throw Error("--precision tf32 needs --device cuda, got --device cpu; on the CPU f32 is exact and no slower",
                Exit::usage);
  if (precision == "int8" && (reference || device != "cpu"))
    throw Error("--precision int8 is for products of the CPU backend: leave out " +
                    (reference ? std::string("--reference") : "--device " + device) + " or this flag",
                Exit::usage);
  if (device == "cpu") return;
  if (reference || precision == "f64")
    throw Error(std::string(reference ? "--reference" : "--precision f64") +
                    " runs on the CPU only: leave out --device " + device + " or this flag",
                Exit::usage);
  check_usable(device_named(device));
}

std::string compute_description(const std::string& device, const std::string& precision, bool reference) {
  return (reference ? "the reference in " : "") + precision + " on " +
         (device == "cpu" ? "the CPU with " + counted(thread_count(), "thread") : description_of(device_named(device)));
}

void add_compute_options(CLI::App* command, ComputeOptions& options, const std::vector<std::string>& precisions) {
  command->add_option("--batch", options.batch, "sequences at a time [of 512 to 4096 tokens, by the model's width]")
      ->check(whole_number(1));
  add_machine_options(command, options, precisions);
}

void add_machine_options(CLI::App* command, ComputeOptions& options, const std::vector<std::string>& precisions) {
  command
      ->add_option("--precision", options.precision,
                   "of matrix products; tf32 needs a GPU; f64 runs the reference in double" +
                       std::string(std::ranges::count(precisions, "int8") ? "; int8 needs a quantised file" : ""))
      ->check(CLI::IsMember(precisions))
      ->capture_default_str();
  command->add_flag("--reference", options.reference, "plain loops instead of the fast path");
  command->add_option("--device", options.device, "cuda needs a build that has it")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command->add_option("--threads", options.threads, "0: as many as there are cores")
      ->check(whole_number(0, 4096))
      ->capture_default_str();
}

}  // namespace sink
