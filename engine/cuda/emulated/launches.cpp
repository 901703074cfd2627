#include "engine/cuda/emulated/launches.h"

#include <set>
#include <vector>

#include "engine/cuda/emulated/memory.h"

namespace sink::emulated {
namespace {

struct Launches {
  std::vector<std::function<void()>> in_order;
  std::set<void*> asked_for;  // and not freed yet
  std::vector<void*> freed;
};
Launches* being_made = nullptr;
thread_local std::function<void(std::function<void()>)> put_launch;

}  // namespace

void begin_recording() { being_made = new Launches; }

void* end_recording() {
  Launches* made = being_made;
  being_made = nullptr;
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

void put_launches(std::function<void(std::function<void()>)> put) { put_launch = std::move(put); }

bool is_put(const std::function<void()>& launch) {
  if (!put_launch) return false;
  put_launch(launch);
  return true;
}

bool is_recorded(const std::function<void()>& launch) {
  if (!being_made) return false;
  being_made->in_order.push_back(launch);
  return true;
}

void note_recorded_allocation(void* memory) {
  if (!is_recorded([memory] { reopen_device(memory); })) return;
  being_made->asked_for.insert(memory);
}

bool note_recorded_free(void* memory) {
  if (!being_made || being_made->asked_for.erase(memory) == 0) return false;
  being_made->freed.push_back(memory);
  close_device(memory);
  return is_recorded([memory] { close_device(memory); });
}

}  // namespace sink::emulated
