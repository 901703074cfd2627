// A long computation can be left between two of its operations. Operations that may take long call stop_point(); it
// calls the checks that the caller of the computation has set on this thread. A check leaves by throwing.
#pragma once

#include <functional>

namespace sink {

// Calls the checks of this thread that exist, the innermost first. Costs one comparison if there is none.
void stop_point();

// A check for as long as this object lives. Objects are destroyed in the reverse order of their construction.
class StopCheck {
 public:
  explicit StopCheck(std::function<void()> check);
  ~StopCheck();
  StopCheck(const StopCheck&) = delete;
  StopCheck& operator=(const StopCheck&) = delete;

 private:
  friend void stop_point();
  std::function<void()> check_;
  StopCheck* outer_;
};

}  // namespace sink
