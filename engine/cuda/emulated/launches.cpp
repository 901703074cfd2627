#include "engine/cuda/emulated/launches.h"

#include <atomic>
#include <set>
#include <vector>

#include "engine/cuda/emulated/memory.h"

namespace sink::emulated {
namespace {

struct Launches {
  std::vector<std::function<void()>> in_order;
  std::set<void*> allocated;  // and not freed yet
  std::vector<void*> freed;
};
Launches* in_progress = nullptr;
thread_local std::function<void(std::function<void()>)> enqueue_launch;
std::atomic<void (*)()> wait_first = nullptr;

}  // namespace

void begin_recording() { in_progress = new Launches; }

void* end_recording() {
  Launches* made = in_progress;
  in_progress = nullptr;
  return made;
}

void run_recording(void* recording) {
  for (const std::function<void()>& launch : static_cast<Launches*>(recording)->in_order) launch();
}

void drop_recording(void* recording) {
  auto* launches = static_cast<Launches*>(recording);
  for (void* memory : launches->freed) drop_device(memory);
  delete launches;
}

void enqueue_launches(std::function<void(std::function<void()>)> enqueue) { enqueue_launch = std::move(enqueue); }

bool is_enqueued(const std::function<void()>& launch) {
  if (!enqueue_launch) return false;
  enqueue_launch(launch);
  return true;
}

bool is_recorded(const std::function<void()>& launch) {
  if (!in_progress) return false;
  in_progress->in_order.push_back(launch);
  return true;
}

void wait_before_work(void (*wait)()) { wait_first = wait; }

void wait_for_other_streams() {
  if (auto* wait = wait_first.load()) wait();
}

void note_recorded_allocation(void* memory) {
  if (!is_recorded([memory] { reopen_device(memory); })) return;
  in_progress->allocated.insert(memory);
}

bool note_recorded_free(void* memory) {
  if (!in_progress || in_progress->allocated.erase(memory) == 0) return false;
  in_progress->freed.push_back(memory);
  close_device(memory);
  return is_recorded([memory] { close_device(memory); });
}

}  // namespace sink::emulated
