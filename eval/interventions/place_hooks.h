// Hooks that replace the output of heads or the residual stream at chosen tokens: by zero, by a mean, or by what they
// are in another text.
#pragma once

#include <memory>

#include "eval/interventions/intervention.h"
#include "eval/interventions/intervention_hooks.h"
#include "eval/interventions/source_activations.h"

namespace sink {

// What::head. `values` are those of the unchanged model. They and the intervention must outlive the hooks.
std::unique_ptr<ForwardHooks> head_hooks(const Intervention& intervention, std::int64_t extra_tokens,
                                         const ValueSums& values);
// What::patch. The source and the intervention must outlive the hooks.
std::unique_ptr<ForwardHooks> patch_hooks(const Intervention& intervention, std::int64_t extra_tokens,
                                          const SourceActivations& source);

}  // namespace sink
