// For LD_PRELOAD, in one library with fault_shim.cpp: the clock on the wall jumps.
//
//   FAULT_CLOCK   N:SECONDS: from the N-th look at it on (from 1, of each process), the clock is ahead by so many
//                 seconds; a negative number sets it back. The monotonic clock does not jump, nor do the times of
//                 files.
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

struct Jump {
  int first = 0;
  long seconds = 0;
  Jump() {
    const char* text = std::getenv("FAULT_CLOCK");
    if (!text || std::sscanf(text, "%d:%ld", &first, &seconds) != 2) seconds = 0;
  }
};

long jumped() {
  static const Jump jump;
  static std::atomic<int> looks{0};
  return ++looks >= jump.first ? jump.seconds : 0;
}

bool is_wall_clock(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) {
  const int done = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (done == 0 && is_wall_clock(clock)) now->tv_sec += jumped();
  return done;
}

time_t time(time_t* now) {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now) *now = precise.tv_sec;
  return precise.tv_sec;
}

int gettimeofday(timeval* now, void*) {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return 0;
}
}
