// CUDA backend: the embedding in F32.
#include "engine/ops/embedding/embedding.h"

#include <utility>

#include "engine/cuda/elements.cuh"
#include "engine/cuda/vectors.cuh"
#include "engine/cuda/warp.cuh"

namespace sink::cuda {
namespace {

constexpr int kThreads = 128;        // of a block of columns
constexpr std::int64_t kTile = 256;  // keys that are sorted by counting
constexpr std::int64_t kBlock = 32;  // sorted places that are summed separately

// A warp per token, which copies its row.
template <int N>
__global__ void embedding_kernel(std::int64_t tokens, std::int64_t C, const std::int32_t* tokens_N, const float* w,
                                 float* x) {
  std::int64_t n = row_of_warp();
  if (n >= tokens) return;
  const float* w_C = w + tokens_N[n] * C;
  for (std::int64_t c = lane_of_thread() * N; c < C; c += kWarp * N)
    store_vector(x + n * C + c, load_vector<N>(w_C + c));
}

// The token in the upper bits, its place in the lower: keys are unique and sort by token, then by place.
using Key = std::int64_t;
SINK_HD Key key_of(std::int32_t token, std::int64_t place) { return (static_cast<Key>(token) << 32) | place; }
SINK_HD std::int64_t token_of(Key key) { return key >> 32; }
SINK_HD std::int64_t place_of(Key key) { return key & 0x7fffffff; }

// How many of the sorted keys [begin, end) are below `key`.
__device__ std::int64_t count_below(const Key* keys, std::int64_t begin, std::int64_t end, Key key) {
  std::int64_t first = begin;
  while (begin < end) {
    std::int64_t middle = (begin + end) / 2;
    if (keys[middle] < key)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin - first;
}

// Sorts tiles: the rank of a key is the number of smaller keys in its tile.
void sort_tiles(std::int64_t N, const std::int32_t* tokens_N, Key* keys) {
  for_each_element(N, [=] __device__(std::int64_t n) {
    std::int64_t begin = n / kTile * kTile, end = begin + kTile < N ? begin + kTile : N, before = 0;
    std::int32_t token = tokens_N[n];
    for (std::int64_t m = begin; m < end; ++m) before += tokens_N[m] < token || (tokens_N[m] == token && m < n);
    keys[begin + before] = key_of(token, n);
  });
}

// Merges pairs of adjacent runs of `run` sorted keys. The rank of a key is its rank in its run plus the number of
// smaller keys in the other.
void merge_runs(std::int64_t N, std::int64_t run, const Key* from, Key* to) {
  for_each_element(N, [=] __device__(std::int64_t n) {
    std::int64_t pair = n / (2 * run) * (2 * run), own = n / run * run, other = own == pair ? pair + run : pair;
    std::int64_t begin = other < N ? other : N, end = other + run < N ? other + run : N;
    to[pair + (n - own) + count_below(from, begin, end, from[n])] = from[n];
  });
}

// Row token(n) of dw += dx of all places n of that token. The places lie sorted in blocks of kBlock. A token's run of
// places within one block is summed in order and added to dw; of a longer one each block writes its part to `parts`:
// where the run begins before the block to the first of the block's two rows, else to the second.
struct Runs {
  std::int64_t count;  // of places
  const Key* keys;
  float* parts;  // (blocks, 2, C)

  __device__ bool continues(std::int64_t n) const { return n > 0 && n < count && same(n - 1, n); }
  __device__ bool same(std::int64_t a, std::int64_t b) const { return token_of(keys[a]) == token_of(keys[b]); }
};

template <int N>
__device__ void add_vector(float* y, const Vector<float, N>& x) {
  Vector<float, N> sum = load_vector<N>(y);
  for (int n = 0; n < N; ++n) sum[n] += x[n];
  store_vector(y, sum);
}

template <int N>
__global__ void sum_blocks_kernel(std::int64_t C, Runs runs, const float* dx, float* dw) {
  std::int64_t block = blockIdx.x, c = (static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x) * N;
  if (c >= C) return;
  std::int64_t begin = block * kBlock, end = begin + kBlock < runs.count ? begin + kBlock : runs.count;
  bool from_before = runs.continues(begin);
  Vector<float, N> sum{};
  for (std::int64_t k = begin; k < end; ++k) {
    auto dx_N = load_vector<N>(dx + place_of(runs.keys[k]) * C + c);
    for (int n = 0; n < N; ++n) sum[n] += dx_N[n];
    bool continues = runs.continues(k + 1);
    if (continues && k + 1 < end) continue;
    if (from_before || continues)
      store_vector(runs.parts + (block * 2 + (from_before ? 0 : 1)) * C + c, sum);
    else
      add_vector(dw + token_of(runs.keys[k]) * C + c, sum);
    from_before = false;
    sum = {};
  }
}

// Adds the parts of the run that starts in a block and continues after it, in order.
template <int N>
__global__ void sum_parts_kernel(std::int64_t C, Runs runs, float* dw) {
  std::int64_t block = blockIdx.x, c = (static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x) * N;
  if (c >= C) return;
  std::int64_t begin = block * kBlock, end = begin + kBlock;
  if (!runs.continues(end)) return;
  bool began_before = runs.continues(begin) && runs.same(begin, end - 1);
  if (began_before) return;
  auto sum = load_vector<N>(runs.parts + (block * 2 + 1) * C + c);
  for (; runs.continues(end) && runs.same(end, begin + kBlock - 1); end += kBlock) {
    auto part = load_vector<N>(runs.parts + (end / kBlock * 2) * C + c);
    for (int n = 0; n < N; ++n) sum[n] += part[n];
  }
  add_vector(dw + token_of(runs.keys[begin + kBlock - 1]) * C + c, sum);
}

template <int N>
void add_runs(const Runs& runs, const Tensor& dx_BTC, Tensor& dw_VC) {
  std::int64_t C = dw_VC.dim(1);
  dim3 blocks(blocks_for(runs.count, kBlock), blocks_for(C, kThreads * N));
  launch({blocks, kThreads}, sum_blocks_kernel<N>, C, runs, dx_BTC.device_data<float>(), dw_VC.device_data<float>());
  launch({blocks, kThreads}, sum_parts_kernel<N>, C, runs, dw_VC.device_data<float>());
}

}  // namespace

void embedding(const Tensor& tokens_BT, const Tensor& w_VC, Tensor& x_BTC) {
  std::int64_t tokens = tokens_BT.size(), C = w_VC.dim(1);
  const float* w = w_VC.device_data<float>();
  float* x = x_BTC.device_data<float>();
  with_vectors<4>(in_vectors<4>(C, w, x), [&](auto width) {
    launch(grid_of_rows(tokens), embedding_kernel<decltype(width)::value>, tokens, C,
           tokens_BT.device_data<std::int32_t>(), w, x);
  });
}

// Sorts the places by token, by a number of passes that depends on how many there are alone, and sums them by token.
void embedding_backward(const Tensor& dx_BTC, const Tensor& tokens_BT, Tensor& dw_VC, bool accumulate) {
  if (!accumulate) dw_VC.fill(0);
  std::int64_t N = tokens_BT.size(), C = dw_VC.dim(1);
  if (N == 0 || C == 0) return;
  Tensor numbers = Tensor::empty({2, 2 * N}, DType::I32, Device::cuda);  // two times N keys of 8 bytes
  Key *keys = reinterpret_cast<Key*>(numbers.device_data<std::int32_t>()), *other = keys + N;
  sort_tiles(N, tokens_BT.device_data<std::int32_t>(), keys);
  for (std::int64_t run = kTile; run < N; run *= 2) {
    merge_runs(N, run, keys, other);
    std::swap(keys, other);
  }
  Tensor parts = Tensor::empty({blocks_for(N, kBlock), 2, C}, DType::F32, Device::cuda);
  Runs runs{N, keys, parts.device_data<float>()};
  bool vectors = in_vectors<4>(C, dx_BTC.device_data<float>(), dw_VC.device_data<float>(), runs.parts);
  with_vectors<4>(vectors, [&](auto width) { add_runs<decltype(width)::value>(runs, dx_BTC, dw_VC); });
}

}  // namespace sink::cuda
