// The figure "where does the unspent attention go?": a row per group of a study, by mechanism.
//
//   left    the mean row of attention weights (raw): weight on the first token, on the extra key, on other tokens, and
//           what is missing to a sum of one; a tick where even attention would put the end of the first part; dots and
//           the 95 % interval of first token and extra key together, over seeds
//   then    Sink_1 and Sink_* with the paper's value for the same kind of input; |v_1| / |v_t| and |h_1| / |h_t|; the
//           loss minus that of softmax, paired by seed; the verdict on the group's first registered claim
//
// Groups with one seed are grey: they decide nothing.
#pragma once

#include <string>

#include "tools/sweep/claim_verdicts.h"

namespace sink {

// The same runs give the same bytes. Empty if the study has no complete run.
std::string budget_svg(const Preregistration& registered, const RunsOfStudies& runs, const std::string& study);

}  // namespace sink
