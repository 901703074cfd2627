#include "engine/recording.h"

#include <cstdlib>
#include <set>
#include <string>

#include "engine/check.h"
#include "engine/tensor.h"

namespace sink {
namespace {

// What the recording that is being made has done with memory.
struct Memory {
  std::set<const void*> made;
  bool released_foreign = false;
};
Memory* being_made = nullptr;

void check_repeatable(const Memory& memory) {
  SINK_CHECK(!memory.released_foreign, "recording",
             "a tensor was let go of that was there before: it is missing when the work runs again");
  SINK_CHECK(memory.made.empty(), "recording",
             std::to_string(memory.made.size()) +
                 " tensors that the work made are still held: they would be overwritten when it runs again. Make them "
                 "before, and copy into them");
}

// After a failure, of which nothing more needs to be said.
void abandon(const DeviceMemory& calls) {
  being_made = nullptr;
  try {
    calls.drop_recording(calls.end_recording());
  } catch (const Error&) {}
}

}  // namespace

Recording::Recording(Device device, const std::function<void()>& launches) : device_(device) {
  SINK_CHECK(!being_made, "recording", "another one is being made");
  const DeviceMemory& calls = memory_of(device);
  Memory memory;
  calls.begin_recording();
  being_made = &memory;
  try {
    launches();
    being_made = nullptr;
    launches_ = calls.end_recording();
  } catch (...) {
    if (being_made) abandon(calls);
    throw;
  }
  try {
    check_repeatable(memory);
  } catch (...) {
    calls.drop_recording(launches_);
    throw;
  }
}

Recording::~Recording() { memory_of(device_).drop_recording(launches_); }

void Recording::run() const { memory_of(device_).run_recording(launches_); }

namespace {

// Records a fill and a copy with a tensor of their own, as a training step does, and runs them twice.
std::string try_recording(Device device) {
  if (!memory_pools_allowed()) return "SINK_MEMORY_POOLS is off";
  try {
    Tensor x = Tensor::zeros({1}, DType::F32, device);
    Recording probe(device, [&] { x.copy_from(Tensor::full({1}, 1, DType::F32, device)); });
    probe.run();
    probe.run();
    return x.item() == 1 ? "" : "a recorded copy did not run";
  } catch (const Error& e) { return e.what(); }
}

}  // namespace

const std::string& recording_refusal(Device device) {
  static const std::string no_device = "the CPU has no recordings";
  if (device == Device::cpu) return no_device;
  static const std::string of_cuda = try_recording(Device::cuda);
  return of_cuda;
}

bool memory_pools_allowed() {
  const char* variable = std::getenv("SINK_MEMORY_POOLS");
  const std::string value = variable ? variable : "on";
  if (value != "on" && value != "off")
    fail("recording", "SINK_MEMORY_POOLS is expected to be on or off, got \"" + value + "\"", Exit::usage);
  return value == "on";
}

void note_allocated(const void* memory) {
  if (being_made) being_made->made.insert(memory);
}

void note_released(const void* memory) {
  if (being_made && being_made->made.erase(memory) == 0) being_made->released_foreign = true;
}

void refuse_copy_while_recording() {
  SINK_CHECK(!being_made, "recording",
             "a copy between the host and the device would be made once, not whenever the work runs: copy before, into "
             "a tensor that stays");
}

}  // namespace sink
