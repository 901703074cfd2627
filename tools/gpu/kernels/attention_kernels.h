// kernels.so: the attention kernels of one device with raw pointers and a stream, for programs that have device memory
// of their own (tools/gpu/kernels/kernel_check.py, PyTorch). tools/gpu/kernels/build.sh builds it from engine/ alone.
//
// Every function that returns int returns 0, or an exit code of engine/check.h; sink_last_error() is then the message.
// Pointers are to device memory; tensors are contiguous. On the emulated device, streams are ignored.
#pragma once

#include <stdint.h>

extern "C" {

struct SinkAttention {
  // q, o: (B, H, T, D); k, v: (B, G, K, D). F32, or BF16 if is_bf16. Optional pointers are null.
  int64_t B, H, G, T, K, D, is_bf16;
  const void *q, *k, *v;
  double scale;
  int64_t window, prefix, first_position;  // engine/key_range.h; the position of query 0
  const int32_t* document_starts;          // (B, K - lead)
  int64_t lead;
  const float* bias;  // (H, bias_columns)
  int64_t bias_columns;
  const float *extra_k, *extra_logit, *extra_v;  // (H, D), (H), (H, D)
  // Outputs of the forward pass, inputs of the backward pass. m, S: (B, H, T), whose meaning is the kernels' own.
  void* o;
  float *m, *S;
  void* stream;
};

struct SinkAttentionGradients {
  const void* grad_o;                                 // like o
  void *dq, *dk, *dv;                                 // like q, k, v
  float *dbias, *dextra_k, *dextra_logit, *dextra_v;  // where the input is given
};

const char* sink_last_error();
// The names of the operations (attention_ops.def), separated by commas.
const char* sink_operations();
const char* sink_device_name();

int sink_attention(const char* operation, const SinkAttention* attention);
int sink_attention_backward(const char* operation, const SinkAttention* attention,
                            const SinkAttentionGradients* gradients);

// For programs that have no allocator and no events.
void* sink_malloc(int64_t bytes);  // null where there is none
void sink_free(void* memory);
int sink_copy_in(void* device, const void* host, int64_t bytes);
int sink_copy_out(void* host, const void* device, int64_t bytes);
// Waits until all work is done. Reports an error of a kernel.
int sink_synchronize();
void* sink_event_create();
int sink_event_record(void* event, void* stream);
// Milliseconds between two recorded events, after waiting for the second; -1 after an error.
double sink_event_elapsed(void* first, void* second);

}  // extern "C"
