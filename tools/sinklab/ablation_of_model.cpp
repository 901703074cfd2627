#include "tools/sinklab/ablation_of_model.h"

#include "engine/check.h"
#include "engine/io/checkpoint.h"
#include "model/all_ablations.h"
#include "model/open/open_model.h"

namespace sink {

const Ablation& ablation_of_model(const std::string& path) {
  if (is_open_model(path)) return ablation_named(open_model(path).config.family);
  const Checkpoint checkpoint = load_checkpoint(path);
  const std::string& policies = checkpoint.attribute("policies");
  const Ablation* found = nullptr;
  for (const Ablation& ablation : all_ablations())
    if (ablation.policies == policies && (!found || ablation.name == checkpoint.attribute("ablation")))
      found = &ablation;
  if (!found)
    throw Error(path + " was made by train_" + checkpoint.attribute("ablation") + " (" + policies +
                    "), an ablation that this program does not have: build it with the source that made the checkpoint",
                Exit::corrupt_checkpoint);
  return *found;
}

}  // namespace sink
