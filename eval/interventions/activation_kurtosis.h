// How far single numbers stand out of what goes through a model: what its numbers lose in few bits. A grid of one scale
// reaches to the largest, so the others get fewer of its steps (Bondarenko et al. 2023).
#pragma once

#include <cstdint>
#include <vector>

#include "eval/sink/sink_score.h"
#include "model/language_model.h"

namespace sink {

// Means over sequences of kurtoses (eval/vector_statistics.h).
struct ActivationKurtosis {
  // Of the C numbers of a token, in the residual stream: of the first position, and the mean of the others.
  std::vector<double> residual_first, residual_others;  // [layer 0 ... L]: 0 is the embedding
  // Of all T x C numbers of a sequence there: the largest |x| by the median |x|.
  std::vector<double> residual_largest_by_median;
  // Of all T x C numbers of a sequence that a product reads: q, k, v; the output of attention; up and gate; down.
  NumberTable inputs;  // [layer][4]
};

ActivationKurtosis activation_kurtosis(LanguageModel& model, const Batch& sequences, std::int64_t batch);

}  // namespace sink
