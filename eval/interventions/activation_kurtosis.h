// Kurtosis of the activations of a model: how far single elements stand out, which is what few bits lose. A grid with
// one scale spans the largest element, so the other elements get fewer of its steps (Bondarenko et al. 2023).
#pragma once

#include <cstdint>
#include <vector>

#include "eval/sink/sink_score.h"
#include "model/language_model.h"

namespace sink {

// Means over sequences of kurtoses (eval/vector_statistics.h).
struct ActivationKurtosis {
  // Over the C elements of a token in the residual stream: of the first position, and the mean of the others.
  std::vector<double> residual_first, residual_others;  // [layer 0 ... L]: 0 is the embedding
  // Over all T x C elements of a sequence: largest |x| / median |x|.
  std::vector<double> residual_largest_by_median;
  // Over all elements of a sequence that enter a matrix product: q, k, v; the output of attention; up and gate; down,
  // of a mixture with the chosen experts only.
  ValueTable inputs;  // [layer][4]
};

ActivationKurtosis activation_kurtosis(LanguageModel& model, const Batch& sequences, std::int64_t batch);

}  // namespace sink
