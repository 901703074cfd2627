// Matrix products with cuBLASLt, with its first heuristic algorithm: the same in every run on one model of GPU.
// SINK_GEMM_ALGORITHMS=16 times the first 16 at the first product of a shape and keeps the fastest, which may differ
// between runs, with different last bits.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/cuda/device.cuh"
#include "engine/cuda/gemm.h"
#include "engine/cuda/nvidia/calls.h"
#include "engine/cuda/nvidia/graph.h"
#include "engine/environment_number.h"

namespace sink::cuda {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;
constexpr int kMostAlgorithms = 16, kTimedRuns = 5;
// A later algorithm must be this much faster, so that measurement noise does not choose.
constexpr float kWorthIt = 0.95f;

// A named struct: nvcc 13.0 fails to compile a vector of cuBLASLt's unnamed one.
struct Algorithm {
  cublasLtMatmulAlgo_t algo;
};

// Created once per shape. Never destroyed: the driver may be gone when static objects are destroyed.
struct Plan {
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, b, c;
  Algorithm algorithm;
};

struct Library {
  std::mutex mutex;
  cublasLtHandle_t handle;
  void* workspace;
  Library() {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;  // allows cudaMalloc while work is recorded
    SINK_CALL(cudaThreadExchangeStreamCaptureMode(&mode));
    cublasStatus_t created = cublasLtCreate(&handle);
    cudaError_t allocated = created == CUBLAS_STATUS_SUCCESS ? allocate() : cudaSuccess;
    if (allocated != cudaSuccess) cublasLtDestroy(handle);  // the next product tries again
    SINK_CALL(cudaThreadExchangeStreamCaptureMode(&mode));
    nvidia::check(created, "cublasLtCreate", __FILE__, __LINE__);
    nvidia::check(allocated, "cudaMalloc of the workspace of matrix products", __FILE__, __LINE__);
  }

 private:
  // No call may wait for the GPU during a recording.
  cudaError_t allocate() {
    auto workspace_allocated = [&] { return cudaMalloc(&workspace, kWorkspaceBytes); };
    return nvidia::is_recording() ? workspace_allocated() : nvidia::retry_without_cache(workspace_allocated);
  }
};
Library& library() {
  static Library* only = new Library;
  return *only;
}

// The largest power of two that divides the address, up to the alignment of the driver's allocations.
std::uint32_t alignment_of(const void* memory) {
  return std::min<std::uint32_t>(256, 1u << std::min(31, std::countr_zero(reinterpret_cast<std::uintptr_t>(memory))));
}

// Everything that an algorithm may depend on: sizes and leading dimensions, transposes, types, TF32, whether c is read,
// and alignments.
using Key = std::tuple<std::array<std::int64_t, 6>, bool, bool, DType, DType, bool, bool, std::array<std::uint32_t, 3>>;
Key key_of(const Gemm& g) {
  return {{g.m, g.n, g.k, g.lda, g.ldb, g.ldc},
          g.transpose_a,
          g.transpose_b,
          g.in,
          g.out,
          g.tf32,
          g.beta != 0,
          {alignment_of(g.a), alignment_of(g.b), alignment_of(g.c)}};
}

cudaDataType_t type_of(DType dtype) { return dtype == DType::F32 ? CUDA_R_32F : CUDA_R_16BF; }

cublasLtMatrixLayout_t layout(DType dtype, std::int64_t rows, std::int64_t columns, bool transposed,
                              std::int64_t leading) {
  cublasLtMatrixLayout_t made;
  if (transposed) std::swap(rows, columns);  // as it is stored
  SINK_CALL(cublasLtMatrixLayoutCreate(&made, type_of(dtype), static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(columns), leading));
  return made;
}

Plan describe(const Gemm& g) {
  Plan plan{};
  cublasComputeType_t compute = g.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  SINK_CALL(cublasLtMatmulDescCreate(&plan.product, compute, CUDA_R_32F));
  auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool yes) {
    cublasOperation_t operation = yes ? CUBLAS_OP_T : CUBLAS_OP_N;
    SINK_CALL(cublasLtMatmulDescSetAttribute(plan.product, which, &operation, sizeof operation));
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, g.transpose_a);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, g.transpose_b);
  plan.a = layout(g.in, g.m, g.k, g.transpose_a, g.lda);
  plan.b = layout(g.in, g.k, g.n, g.transpose_b, g.ldb);
  plan.c = layout(g.out, g.m, g.n, false, g.ldc);
  return plan;
}

cublasStatus_t run(const Gemm& g, const Plan& plan, const Algorithm& algorithm, void* result) {
  return cublasLtMatmul(library().handle, plan.product, &g.alpha, g.a, plan.a, g.b, plan.b, &g.beta, g.c, plan.c,
                        result, plan.c, &algorithm.algo, library().workspace, kWorkspaceBytes, stream());
}

int requested_algorithms() {
  static const int requested = environment_number_or("SINK_GEMM_ALGORITHMS", 1, "a number", 1, kMostAlgorithms);
  return requested;
}

// Algorithms for the product, in the order of cuBLASLt's heuristic.
std::vector<Algorithm> candidates(const Gemm& g, const Plan& plan) {
  cublasLtMatmulPreference_t preference;
  SINK_CALL(cublasLtMatmulPreferenceCreate(&preference));
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
    SINK_CALL(cublasLtMatmulPreferenceSetAttribute(preference, which, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  // Where k is split, partial sums are added in F32, not in c's type.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(g.a));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(g.b));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(g.c));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(g.c));
  std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> found{};
  int count = 0;
  cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(library().handle, plan.product, plan.a, plan.b, plan.c, plan.c,
                                                         preference, requested_algorithms(), found.data(), &count);
  SINK_CALL(cublasLtMatmulPreferenceDestroy(preference));
  if (status != CUBLAS_STATUS_NOT_SUPPORTED) SINK_CALL(status);
  std::vector<Algorithm> algorithms;
  for (int i = 0; i < count; ++i)
    if (found[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back({found[i].algo});
  SINK_CHECK(!algorithms.empty(), "gemm", "cuBLASLt has no algorithm for " + str(g), Exit::device);
  return algorithms;
}

// Milliseconds of a few runs; 1e30 if cuBLASLt refuses the algorithm.
float time_of(const Gemm& g, const Plan& plan, const Algorithm& algorithm, void* result) {
  if (run(g, plan, algorithm, result) != CUBLAS_STATUS_SUCCESS) return 1e30f;
  cudaEvent_t begin, end;
  SINK_CALL(cudaEventCreate(&begin));
  SINK_CALL(cudaEventCreate(&end));
  SINK_CALL(cudaEventRecord(begin, stream()));
  for (int i = 0; i < kTimedRuns; ++i) SINK_CALL(run(g, plan, algorithm, result));
  SINK_CALL(cudaEventRecord(end, stream()));
  SINK_CALL(cudaEventSynchronize(end));
  float milliseconds = 0;
  SINK_CALL(cudaEventElapsedTime(&milliseconds, begin, end));
  SINK_CALL(cudaEventDestroy(begin));
  SINK_CALL(cudaEventDestroy(end));
  return milliseconds;
}

Algorithm fastest(const Gemm& g, const Plan& plan) {
  std::vector<Algorithm> algorithms = candidates(g, plan);
  if (algorithms.size() == 1 || nvidia::is_recording()) return algorithms[0];
  void* result = g.c;  // the product overwrites it afterwards, unless beta != 0
  if (g.beta != 0) {
    auto bytes = static_cast<std::size_t>(g.ldc * (g.n - 1) + g.m) * size_of(g.out);
    if (cudaMallocAsync(&result, bytes, stream()) != cudaSuccess) {  // no memory for trial runs
      cudaGetLastError();
      return algorithms[0];
    }
  }
  std::size_t best = 0;
  float best_time = 1e30f;
  for (std::size_t i = 0; i < algorithms.size(); ++i) {
    float time = time_of(g, plan, algorithms[i], result);
    if (time < best_time * kWorthIt) best = i, best_time = time;
  }
  if (g.beta != 0) SINK_CALL(cudaFreeAsync(result, stream()));
  return algorithms[best];
}

const Plan& plan_for(const Gemm& g) {
  static std::map<Key, Plan> plans;
  auto [place, is_new] = plans.try_emplace(key_of(g));
  if (is_new) {
    try {
      place->second = describe(g);
      place->second.algorithm = fastest(g, place->second);
    } catch (...) {
      plans.erase(place);
      throw;
    }
  }
  return place->second;
}

}  // namespace

void gemm(const Gemm& g) {
  check(g);
  std::lock_guard lock(library().mutex);
  const Plan& plan = plan_for(g);
  cublasStatus_t status = run(g, plan, plan.algorithm, g.c);
  if (status == CUBLAS_STATUS_ALLOC_FAILED)
    throw OutOfMemory("out of memory on the CUDA device for a product: " + str(g));
  SINK_CHECK(status == CUBLAS_STATUS_SUCCESS, "gemm",
             std::string("cublasLtMatmul: ") + cublasLtGetStatusString(status) + ": " + str(g), Exit::device);
}

}  // namespace sink::cuda
