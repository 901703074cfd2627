#include "tests/support/nccl_mock/nccl_mock.h"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "engine/cuda/emulated/memory.h"
#include "tests/support/nccl_mock/stream_mock.h"
#include "tests/support/socket_links.h"

namespace {

constexpr double kPatience = 60;  // of ranks that meet; NCCL has none

struct Message {
  bool is_send;
  void* data;
  std::size_t bytes;
  int peer;
};

}  // namespace

struct MockComm {
  int rank = 0, size = 0;
  bool blocking = true;
  std::unique_ptr<sink::SocketLinks> links;
  std::unique_ptr<sink::SocketLinks> proxies;  // connections to the ranks of the host, without messages
  std::atomic<ncclResult_t> state{ncclInProgress};
  std::atomic<bool> aborted{false};
  std::atomic<int> callers{0};
  std::uint64_t number = 0;  // of what was queued
  std::thread meets;
};

namespace {

struct Queued {
  MockComm* comm;
  MockStream* stream;
  Message message;
};
thread_local int group_depth = 0;
thread_local std::vector<Queued> group;

// A call of NCCL's that reads a communicator.
class Call {
 public:
  Call(MockComm* comm, const char* name) : comm_(comm) {
    if (comm_->aborted) misuse(name, "was aborted: NCCL has freed it");
    if (comm_->callers++ > 0) misuse(name, "another thread calls");
  }
  ~Call() { --comm_->callers; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  static void misuse(const char* name, const char* why) {
    std::fprintf(stderr, "NCCL's mock: %s of a communicator that %s\n", name, why);
    std::abort();
  }
  MockComm* comm_;
};

// On the stream's thread: from device to host, to the others, and back.
void do_messages(MockComm& comm, std::uint64_t number, const std::vector<Message>& messages) {
  std::vector<std::vector<char>> bytes;
  std::vector<sink::Links::Send> sends;
  std::vector<sink::Links::Receive> receives;
  for (const Message& message : messages) bytes.emplace_back(message.bytes);
  for (std::size_t n = 0; n < messages.size(); ++n) {
    const Message& message = messages[n];
    if (message.is_send) sink::emulated::copy_from_device(bytes[n].data(), message.data, message.bytes);
    if (message.peer == comm.rank) continue;
    if (message.is_send)
      sends.push_back({message.peer, bytes[n].data(), message.bytes});
    else
      receives.push_back({message.peer, bytes[n].data(), message.bytes});
  }
  comm.links->transfer({"group", number}, sends, receives);
  for (std::size_t n = 0; n < messages.size(); ++n) {
    const Message& message = messages[n];
    if (message.is_send) continue;
    const std::vector<char>* from = &bytes[n];
    if (message.peer == comm.rank)  // what this rank sends itself
      for (std::size_t other = 0; other < messages.size(); ++other)
        if (messages[other].is_send && messages[other].peer == comm.rank) from = &bytes[other];
    sink::emulated::copy_to_device(message.data, from->data(), message.bytes);
  }
}

// Failed work never completes: the stream blocks until the communicator is aborted.
void queue_messages(MockComm* comm, MockStream* stream, std::vector<Message> messages) {
  const std::uint64_t number = ++comm->number;
  stream->queue([comm, number, messages = std::move(messages)] {
    if (comm->aborted) return;
    try {
      do_messages(*comm, number, messages);
    } catch (const sink::RankLost&) { comm->state = ncclRemoteError; } catch (const std::exception&) {
      comm->state = ncclInternalError;
    }
    while (comm->state != ncclSuccess && !comm->aborted) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
}

ncclResult_t end_group() {
  if (--group_depth > 0) return ncclSuccess;
  std::vector<Queued> queued;
  queued.swap(group);
  while (!queued.empty()) {  // each communicator and stream by itself
    const Queued first = queued.front();
    std::vector<Message> messages;
    std::erase_if(queued, [&](const Queued& other) {
      if (other.comm != first.comm || other.stream != first.stream) return false;
      messages.push_back(other.message);
      return true;
    });
    queue_messages(first.comm, first.stream, std::move(messages));
  }
  return ncclSuccess;
}

ncclResult_t queue_message(MockComm* comm, MockStream* stream, const Message& message) {
  if (!stream || message.peer < 0 || message.peer >= comm->size) return ncclInvalidArgument;
  if (comm->state == ncclInProgress) return ncclInvalidUsage;
  group.push_back({comm, stream, message});
  if (group_depth > 0) return comm->blocking ? ncclSuccess : ncclInProgress;  // NCCL may return either, if not blocking
  ++group_depth;
  return end_group();
}

std::size_t size_of(ncclDataType_t type) { return type == ncclInt8 ? 1 : type == ncclFloat32 ? 4 : 8; }

void* own_place(void* all, std::size_t bytes, int rank) {
  return static_cast<char*>(all) + bytes * static_cast<std::size_t>(rank);
}

}  // namespace

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclInvalidUsage:
      return "invalid usage";
    case ncclInvalidArgument:
      return "invalid argument";
    default:
      return "internal error";
  }
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  unsigned char drawn[16];
  if (::getrandom(drawn, sizeof drawn, 0) != sizeof drawn) return ncclSystemError;
  std::memset(id, 0, sizeof *id);
  for (std::size_t n = 0; n < sizeof drawn; ++n) {
    id->internal[2 * n] = "0123456789abcdef"[drawn[n] / 16];
    id->internal[2 * n + 1] = "0123456789abcdef"[drawn[n] % 16];
  }
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (size < 1 || rank < 0 || rank >= size) return ncclInvalidArgument;
  auto* comm = *made = new MockComm;
  comm->rank = rank, comm->size = size;
  comm->blocking = !config || config->blocking != 0;
  const sink::RankPlace place{rank, size, "nccl-" + std::string(id.internal)};
  const sink::RankPlace proxy{rank, size, place.token + "-proxy"};
  comm->meets = std::thread([comm, place, proxy] {
    try {
      comm->links = std::make_unique<sink::SocketLinks>(place, kPatience);
      comm->links->set_time_out(1e9);
      comm->proxies = std::make_unique<sink::SocketLinks>(proxy, kPatience);
      comm->state = ncclSuccess;
    } catch (const std::exception&) { comm->state = ncclSystemError; }
  });
  if (!comm->blocking) return ncclInProgress;
  comm->meets.join();
  return comm->state;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  Call call(comm, "ncclCommGetAsyncError");
  *error = comm->state;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  Call call(comm, "ncclCommFinalize");
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  { Call call(comm, "ncclCommDestroy"); }
  if (comm->meets.joinable()) comm->meets.join();
  if (comm->proxies) comm->proxies->leave_with_others();
  delete comm;
  return ncclSuccess;
}

// What is queued ends undone, before this waits; the communicator itself stays, as work of a stream may still look at
// it.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  Call call(comm, "ncclCommAbort");
  comm->aborted = true;
  if (comm->state == ncclInProgress) {
    comm->meets.detach();  // those that it waits for may never come
  } else {
    if (comm->links) comm->links->interrupt();
    comm->meets.join();
    if (comm->proxies) comm->proxies->leave_with_others();
  }
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group_depth == 0) return ncclInvalidUsage;
  if (group_depth == 1)
    for (const Queued& queued : group) Call check(queued.comm, "ncclGroupEnd");
  return end_group();
}

ncclResult_t ncclSend(const void* data, std::size_t count, ncclDataType_t type, int to, ncclComm_t comm,
                      cudaStream_t stream) {
  Call call(comm, "ncclSend");
  return queue_message(comm, stream, {true, const_cast<void*>(data), count * size_of(type), to});
}

ncclResult_t ncclRecv(void* data, std::size_t count, ncclDataType_t type, int from, ncclComm_t comm,
                      cudaStream_t stream) {
  Call call(comm, "ncclRecv");
  return queue_message(comm, stream, {false, data, count * size_of(type), from});
}

ncclResult_t ncclAllGather(const void* own, void* all, std::size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  Call call(comm, "ncclAllGather");
  if (!stream) return ncclInvalidArgument;
  const std::size_t bytes = count * size_of(type);
  std::vector<Message> messages;
  for (int rank = 0; rank < comm->size; ++rank) {
    if (rank == comm->rank && own == own_place(all, bytes, rank)) continue;  // it is there
    messages.push_back({true, const_cast<void*>(own), bytes, rank});
    messages.push_back({false, own_place(all, bytes, rank), bytes, rank});
  }
  queue_messages(comm, stream, std::move(messages));
  return ncclSuccess;
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  Call call(comm, "ncclBroadcast");
  if (!stream || root < 0 || root >= comm->size) return ncclInvalidArgument;
  const std::size_t bytes = count * size_of(type);
  std::vector<Message> messages;
  if (comm->rank != root) messages.push_back({false, to, bytes, root});
  for (int rank = 0; rank < comm->size && comm->rank == root; ++rank)
    if (rank != root) messages.push_back({true, const_cast<void*>(from), bytes, rank});
  queue_messages(comm, stream, std::move(messages));
  return ncclSuccess;
}
