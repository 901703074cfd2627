#include "tools/sweep/job_claims.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "engine/check.h"
#include "engine/io/file.h"
#include "engine/io/folder_lock.h"
#include "engine/io/printable.h"

namespace sink {
namespace {

constexpr std::size_t kMostBytes = 1024;

// What holds a claim, as its file says.
struct Holder {
  bool held = true;
  long process = 0, start = 0;  // its number, and when it began: numbers are given again
  std::string system;           // where that number means something
  double lease = 0;
  std::string words;
};

// A file that is not written yet, or damaged, has a holder that nothing is known of.
Holder holder_in(const std::string& text) {
  Holder holder;
  std::istringstream lines(text);
  std::string key;
  while (lines >> key) {
    if (key == "free") holder.held = false;
    if (key == "process") lines >> holder.process >> holder.start >> holder.system;
    if (key == "lease") lines >> holder.lease;
    if (key == "holder") std::getline(lines >> std::ws, holder.words);
  }
  return holder;
}

// This boot of this system and its container.
std::string this_system() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> space{};
  const ssize_t length = ::readlink("/proc/self/ns/pid", space.data(), space.size());
  if (boot.empty() || length <= 0) return "unknown-" + std::to_string(::getpid());
  return boot + "/" + std::string(space.data(), static_cast<std::size_t>(length));
}

// When a process began, in ticks since the system did; 0 where it is no more.
long start_of(long process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t after_name = stat.rfind(')');  // which may be anything
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(stat.substr(after_name + 1));
  std::string state, field;
  fields >> state;
  for (int i = 4; i < 22; ++i) fields >> field;
  long start = 0;
  return fields >> start && state != "Z" && state != "X" ? start : 0;
}

bool lives_here(const Holder& holder) { return start_of(holder.process) == holder.start && holder.start != 0; }

}  // namespace

JobClaims::JobClaims(std::string folder, double lease_seconds)
    : folder_(std::move(folder)), lease_(lease_seconds), system_(this_system()) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (!error && std::filesystem::is_symlink(folder_)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) fail_io("make the folder", folder_, error.value());
  std::ostringstream own;
  own << "process " << ::getpid() << " " << start_of(::getpid()) << " " << system_ << "\nlease " << lease_
      << "\nholder " << this_process_in_words() << "\n";
  own_ = own.str();
}

JobClaims::~JobClaims() {
  for (const auto& [name, job] : jobs_)
    if (job.ours) let_go(name);
}

std::string JobClaims::own_text(bool held) const {
  std::ostringstream text;
  text << (held ? "held" : "free") << "\n" << own_ << "beat " << beats_ << "\n";
  return text.str();
}

void JobClaims::write(const std::string& name, bool held) const {
  const std::string file = path(name, jobs_.at(name).last), text = own_text(held);
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  bool written = descriptor >= 0 &&
                 ::pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
                 ::ftruncate(descriptor, static_cast<off_t>(text.size())) == 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) written = ::close(descriptor) == 0 && written;
  if (!written)
    std::fprintf(stderr, "note: %s cannot be written (%s); after %g s others may take this job for lost\n",
                 printable(file).c_str(), std::generic_category().message(error).c_str(), lease_);
}

ClaimStanding JobClaims::look(const std::string& name) {
  const bool known = jobs_.contains(name);
  Job& job = jobs_[name];
  if (job.ours) return ClaimStanding::ours;
  std::string text;
  for (int n = std::max(1, job.last);; ++n) {
    const std::string file = path(name, n);
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0 && errno == ENOENT) break;
    struct stat found;
    if (descriptor < 0 || ::fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) {
      if (descriptor >= 0) ::close(descriptor);
      throw Error(file + " is expected to be a file of `sweep` that says who has a run, and is not; remove it",
                  Exit::bad_input);
    }
    std::array<char, kMostBytes> bytes{};
    const ssize_t got = ::pread(descriptor, bytes.data(), bytes.size(), 0);
    ::close(descriptor);
    text.assign(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    if (n > job.last) {
      if (known) job.heard = true;
      job.changed = Clock::now();
      job.last = n;
    }
  }
  if (text != job.text) {
    job.heard = known;
    job.changed = Clock::now();
    job.text = text;
  }
  const Holder holder = holder_in(text);
  if (job.last == 0 || !holder.held) return ClaimStanding::free;
  if (holder.system == system_) return lives_here(holder) ? ClaimStanding::living : ClaimStanding::dead;
  const double silent = std::chrono::duration<double>(Clock::now() - job.changed).count();
  if (silent > std::max(lease_, holder.lease)) return ClaimStanding::dead;
  return job.heard ? ClaimStanding::living : ClaimStanding::unheard;
}

bool JobClaims::take(const std::string& name) {
  Job& job = jobs_[name];
  const std::string file = path(name, job.last + 1);
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0 && errno == EEXIST) return false;
  if (descriptor < 0) fail_io("create", file, errno);
  ::close(descriptor);
  ++job.last;
  job.ours = true;
  write(name, true);
  return true;
}

void JobClaims::let_go(const std::string& name) {
  Job& job = jobs_.at(name);
  if (!job.ours) return;
  write(name, false);
  job.text = own_text(false);
  job.ours = false;
}

std::vector<std::string> JobClaims::beat() {
  std::vector<std::string> lost;
  if (std::chrono::duration<double>(Clock::now() - beaten_).count() < lease_ / 4) return lost;
  beaten_ = Clock::now();
  ++beats_;
  for (auto& [name, job] : jobs_) {
    if (!job.ours) continue;
    write(name, true);
    struct stat next;
    if (::lstat(path(name, job.last + 1).c_str(), &next) != 0) continue;
    job.ours = false;
    lost.push_back(name);
  }
  return lost;
}

int JobClaims::times_taken(const std::string& name) const {
  const auto job = jobs_.find(name);
  return job == jobs_.end() ? 0 : job->second.last;
}

std::string JobClaims::holder(const std::string& name) const {
  const auto job = jobs_.find(name);
  const std::string words = job == jobs_.end() ? "" : holder_in(job->second.text).words;
  return words.empty() ? "another process" : printable(words);
}

}  // namespace sink
