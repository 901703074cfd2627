#include "tools/sinklab/ablation_of_model.h"

#include "engine/check.h"
#include "engine/io/checkpoint.h"
#include "engine/io/utf8.h"
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
  constexpr std::size_t kMost = 500;  // bytes of a text of the file that are shown
  if (!found)
    throw Error(path + " was made by train_" + std::string(utf8_prefix(checkpoint.attribute("ablation"), kMost)) +
                    " (" + std::string(utf8_prefix(policies, kMost)) +
                    "), an ablation that this program does not have: build it with the source that made the checkpoint",
                Exit::corrupt_checkpoint);
  return *found;
}

}  // namespace sink
