#include "engine/comm/nccl/nccl_communicator.h"

#include <cstring>

#include "engine/comm/host_communicator.h"
#include "engine/comm/nccl/on_stream.h"
#include "engine/comm/nccl/sum_in_order.h"
#ifdef __CUDACC__
#include "engine/cuda/device.cuh"
#endif

namespace sink {
namespace {

constexpr auto kLookAfterEvery = std::chrono::milliseconds(50);

// The stream that kernels are launched on.
cudaStream_t stream_of_kernels() {
#ifdef __CUDACC__
  return cuda::stream();
#else
  return nullptr;
#endif
}

// What tells the GPU of this rank from all others; of the emulated device each rank has its own.
std::string gpu_of([[maybe_unused]] int rank) {
#ifdef __CUDACC__
  int device = 0;
  cudaDeviceProp properties;
  if (cudaGetDevice(&device) == cudaSuccess && cudaGetDeviceProperties(&properties, device) == cudaSuccess)
    return {properties.uuid.bytes, sizeof properties.uuid.bytes};
#endif
  return "rank " + std::to_string(rank);
}

void check_cuda(cudaError_t result, const char* call) {
  if (result != cudaSuccess) fail("ranks", std::string(call) + ": " + cudaGetErrorString(result), Exit::device);
}

// Of a call in a group: a communicator that does not block may call it in progress until the group has ended.
bool is_accepted(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }

constexpr double kMoment = 1e-3;  // seconds in which a call is mostly done

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The device address of the data. Only NCCL needs it.
char* address_of(const Tensor& x) {
  Tensor same = x;
  if (x.dtype() == DType::F64) return reinterpret_cast<char*>(same.device_data<double>());
  if (x.dtype() == DType::BF16) return reinterpret_cast<char*>(same.device_data<bf16>());
  return reinterpret_cast<char*>(same.device_data<float>());
}

}  // namespace

// A point of a stream.
struct NcclCommunicator::Event {
  cudaEvent_t event = nullptr;
  explicit Event(cudaStream_t stream) {
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    check_cuda(cudaEventRecord(event, stream), "cudaEventRecord");
  }
  ~Event() { cudaEventDestroy(event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

std::unique_ptr<Communicator> device_communicator(std::unique_ptr<HostCommunicator> host, double time_out) {
  return std::make_unique<NcclCommunicator>(std::move(host), time_out);
}

NcclCommunicator::NcclCommunicator(std::unique_ptr<HostCommunicator> host, double time_out)
    : Communicator(host->rank(), host->size()), host_(std::move(host)), time_out_(time_out) {
  nccl();  // loaded before anything waits for another rank
  check_usable(Device::cuda);
  require_own_gpu();
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  make_communicator();
  thread_ = std::thread([this, device] { look_after(device); });
}

// NCCL itself would say no more than "invalid usage".
void NcclCommunicator::require_own_gpu() {
  const std::vector<std::string> gpus = host_->exchange(gpu_of(rank_));
  for (std::size_t a = 0; a < gpus.size(); ++a)
    for (std::size_t b = a + 1; b < gpus.size(); ++b)
      if (gpus[a] == gpus[b])
        fail("ranks",
             "ranks " + std::to_string(a) + " and " + std::to_string(b) +
                 " have one GPU between them, where each needs its own: start as many ranks on a host as it has GPUs "
                 "(CUDA_VISIBLE_DEVICES, --gpus-per-node)",
             Exit::usage);
}

// Rank 0 sends the id to the others by the host's links (MPI).
void NcclCommunicator::make_communicator() {
  ncclUniqueId id{};
  if (is_writer()) settle(nccl().ncclGetUniqueId(&id), "ncclGetUniqueId");
  const std::string bytes = host_->exchange(is_writer() ? std::string(id.internal, sizeof id.internal) : "").front();
  SINK_CHECK(bytes.size() == sizeof id.internal, "ranks", "expected NCCL's id of rank 0, got other bytes");
  std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  settle(nccl_.init(size_, id, rank_), "ncclCommInitRankConfig");
}

NcclCommunicator::~NcclCommunicator() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ends_changed_.notify_all();
  thread_.join();
  forget_what_is_done();
  // A rank that fails, or leaves in the middle of a collective, does not wait for the others: its exit ends them.
  if (underway_.empty() && std::uncaught_exceptions() == 0)
    nccl_.close(time_out_);
  else
    nccl_.abort();
  if (!nccl_.aborted()) cudaStreamDestroy(stream_);  // else it may not be idle, and the process is about to end
}

void NcclCommunicator::settle(ncclResult_t result, const std::string& call) {
  const auto since = std::chrono::steady_clock::now();
  while (result == ncclInProgress) {
    const double seconds = seconds_since(since);
    if (seconds > time_out_) give_up(std::make_exception_ptr(out_of_time(call)));
    if (seconds < kMoment)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    result = nccl_.state();
  }
  if (result == ncclSuccess) return;
  throw_if_failed();
  throw RankLost(who() + ": " + call + ": " + nccl().ncclGetErrorString(result));
}

void NcclCommunicator::begin(const char* collective, const Tensor& x) {
  SINK_CHECK(x.device() == Device::cuda, "ranks",
             std::string(collective) + " of a tensor on another device: " + x.str());
  throw_if_failed();
  collective_ = collective;
  ++number_;
  check_cuda(cudaStreamWaitEvent(stream_, Event(stream_of_kernels()).event, 0), "cudaStreamWaitEvent");
}

void NcclCommunicator::end(double bytes_sent) {
  auto done = std::make_shared<Event>(stream_);
  std::lock_guard lock(mutex_);
  underway_.push_back({{collective_, number_}, done, std::chrono::steady_clock::now()});
  traffic_.bytes_sent += bytes_sent;
}

void NcclCommunicator::reduce_scatter(const Tensor& whole, Tensor& chunk, bool add) {
  SINK_CHECK(chunk.size() * size_ == whole.size() && chunk.dtype() == DType::F32 && whole.dtype() == DType::F32,
             "ranks", "reduce_scatter: expected f32 elements and a chunk of " + whole.str() + ", got " + chunk.str());
  if (!received_.defined() || received_.size() < whole.size()) {
    wait();  // another may be adding up what is there
    received_ = whole.new_zeros({whole.size()}, whole.dtype());
  }
  begin("reduce_scatter", whole);
  const std::size_t bytes = chunk.bytes();
  char *to_all = address_of(whole), *from_all = address_of(received_);
  settle(nccl_.call([&](ncclComm_t comm) {
    ncclResult_t result = nccl().ncclGroupStart();
    for (int rank = 0; rank < size_ && is_accepted(result); ++rank) {
      const std::size_t place = bytes * static_cast<std::size_t>(rank);
      result = nccl().ncclSend(to_all + place, bytes, ncclInt8, rank, comm, stream_);
      if (is_accepted(result)) result = nccl().ncclRecv(from_all + place, bytes, ncclInt8, rank, comm, stream_);
    }
    const ncclResult_t end = nccl().ncclGroupEnd();
    return is_accepted(result) ? end : result;
  }),
         "ncclSend and ncclRecv");
  {
    OnStream on(stream_);
    sum_in_order(received_.slice(0, {whole.size()}), chunk, add);
  }
  end(static_cast<double>(bytes) * (size_ - 1));
}

void NcclCommunicator::all_gather(Tensor& whole) {
  SINK_CHECK(whole.size() % size_ == 0, "ranks",
             "all_gather: expected a tensor of " + std::to_string(size_) + " equal chunks, got " + whole.str());
  begin("all_gather", whole);
  const std::size_t bytes = whole.bytes() / static_cast<std::size_t>(size_);
  char* all = address_of(whole);
  const char* own = all + bytes * static_cast<std::size_t>(rank_);
  settle(nccl_.call([&](ncclComm_t comm) { return nccl().ncclAllGather(own, all, bytes, ncclInt8, comm, stream_); }),
         "ncclAllGather");
  end(static_cast<double>(bytes) * (size_ - 1));
}

void NcclCommunicator::broadcast(Tensor& x) {
  begin("broadcast", x);
  char* all = address_of(x);
  settle(nccl_.call(
             [&](ncclComm_t comm) { return nccl().ncclBroadcast(all, all, x.bytes(), ncclInt8, 0, comm, stream_); }),
         "ncclBroadcast");
  end(is_writer() ? static_cast<double>(x.bytes()) * (size_ - 1) : 0);
}

// Kernels that are launched from here on wait for the collective; the host does not.
void NcclCommunicator::wait() {
  throw_if_failed();
  std::shared_ptr<Event> awaited;
  {
    std::lock_guard lock(mutex_);
    if (!underway_.empty()) awaited = underway_.back().done;
  }
  if (awaited) check_cuda(cudaStreamWaitEvent(stream_of_kernels(), awaited->event, 0), "cudaStreamWaitEvent");
  throw_if_failed();
}

std::vector<std::string> NcclCommunicator::exchange(const std::string& mine) {
  throw_if_failed();
  return host_->exchange(mine);
}

Communicator::Traffic NcclCommunicator::traffic() const {
  std::lock_guard lock(mutex_);
  return traffic_;
}

std::string NcclCommunicator::who() const { return "rank " + std::to_string(rank_) + " of " + std::to_string(size_); }

RankLost NcclCommunicator::out_of_time(const std::string& what) const {
  return RankLost(who() + " waited " + std::to_string(static_cast<int>(time_out_)) + " s in " + what +
                  ", which is not done (--comm-timeout)");
}

bool NcclCommunicator::failed() const {
  std::lock_guard lock(mutex_);
  return failure_ != nullptr;
}

void NcclCommunicator::throw_if_failed() const {
  std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void NcclCommunicator::give_up(const std::exception_ptr& why) {
  {
    std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = why;
  }
  nccl_.abort();
}

void NcclCommunicator::forget_what_is_done() {
  while (!underway_.empty() && cudaEventQuery(underway_.front().done->event) == cudaSuccess) underway_.pop_front();
}

// A thread begins with the first GPU, whichever this rank has.
void NcclCommunicator::look_after(int device) {
  cudaSetDevice(device);
  std::unique_lock lock(mutex_);
  while (!ends_changed_.wait_for(lock, kLookAfterEvery, [&] { return ends_; })) {
    forget_what_is_done();
    if (failure_) continue;
    const bool waits = !underway_.empty();
    const TransferName name = waits ? underway_.front().name : TransferName{};
    const double seconds = waits ? seconds_since(underway_.front().since) : 0;
    lock.unlock();
    look(waits, name, seconds);
    lock.lock();
  }
}

void NcclCommunicator::look(bool waits, const TransferName& name, double seconds) {
  const ncclResult_t state = nccl_.state();
  if (state != ncclSuccess && state != ncclInProgress) {
    const std::string where = waits ? ", in " + name.str() : "";
    give_up(std::make_exception_ptr(RankLost(who() + where + ": NCCL: " + nccl().ncclGetErrorString(state))));
  } else if (seconds > time_out_) {
    give_up(std::make_exception_ptr(out_of_time(name.str())));
  }
}

}  // namespace sink
