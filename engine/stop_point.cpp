#include "engine/stop_point.h"

#include <utility>

namespace sink {
namespace {

thread_local StopCheck* innermost = nullptr;

}  // namespace

StopCheck::StopCheck(std::function<void()> check) : check_(std::move(check)), outer_(std::exchange(innermost, this)) {}

StopCheck::~StopCheck() { innermost = outer_; }

void stop_point() {
  for (const StopCheck* check = innermost; check; check = check->outer_) check->check_();
}

}  // namespace sink
