// The checks and allocations of attention.h that do not depend on the operation.
#pragma once

#include "engine/ops/attention/attention.h"

namespace sink::attention_check {

// Each throws an Error that names the tensor, what was expected, and what it is.
void inputs(const Tensor& q_BHTD, const Tensor& k_BGKD, const AttentionConfig& config);
void like(const Tensor& x, const char* name, const Tensor& other, const char* other_name);
void rows(const Tensor& m_BHT, const Tensor& S_BHT, const Tensor& q_BHTD);
void columns(std::int64_t n_columns, const Tensor& k_BGKD);
void head(std::int64_t b, std::int64_t h, const Tensor& q_BHTD);

// dq, dk and dv uninitialized; the others zero.
AttentionGradients empty_gradients(const Tensor& q_BHTD, const Tensor& k_BGKD, const AttentionConfig& config);
AttentionStatistics zero_statistics(const Tensor& q_BHTD, std::int64_t n_columns);
AttentionKeySums zero_key_sums(const Tensor& q_BHTD, const Tensor& k_BGKD);

// The inputs of query head h of sequence b for the reference: F64, one sequence and one head.
struct OneHead {
  Tensor q_BHTD, k_BGKD, m_BHT, S_BHT;
  AttentionConfig config;
};
OneHead one_head(const Tensor& q_BHTD, const Tensor& k_BGKD, const Tensor& m_BHT, const Tensor& S_BHT,
                 const AttentionConfig& config, std::int64_t b, std::int64_t h);

}  // namespace sink::attention_check
