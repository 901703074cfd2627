#include "train/step_recording.h"

#include "engine/check.h"

namespace sink {

StepRecording::StepRecording(Device device, bool wanted)
    : device_(device), wanted_(wanted && device != Device::cpu && recording_refusal(device).empty()) {}

void StepRecording::run(const std::vector<std::int64_t>& constants, bool may_record,
                        const std::function<void()>& launches) {
  if (!wanted_) return launches();
  if (constants != constants_ || !may_record) {
    recording_.reset();
    launches();
    constants_ = constants;
    return;
  }
  if (!recording_) {
    try {
      recording_ = std::make_unique<Recording>(device_, launches);
    } catch (const OutOfMemory&) { throw; } catch (const Error& e) {
      fail("train",
           std::string("the step could not be recorded: ") + e.what() +
               ". With --graph off it is launched kernel by kernel",
           e.code);
    }
  }
  recording_->run();
}

}  // namespace sink
