// SINK_HD marks a function of one value or one row that the CPU and, when compiled by nvcc, the GPU can call.
#pragma once

#ifdef __CUDACC__
#define SINK_HD __host__ __device__
#else
#define SINK_HD
#endif
