// SINK_HD marks a function of one number or one row that both the CPU and, where a compiler for it runs, the GPU call.
#pragma once

#ifdef __CUDACC__
#define SINK_HD __host__ __device__
#else
#define SINK_HD
#endif
