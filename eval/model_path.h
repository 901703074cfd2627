// Where a model is, from what a user typed: a file, a folder, or the name of a model of the Hugging Face hub.
#pragma once

#include <string>

namespace sink {

// The path that programs read, for
//   a file, or a folder with config.json      itself
//   the folder of a run                       its checkpoint.h5
//   a folder with one GGUF file               that file, or the first part of a model in several
//   models--ORG--NAME                         its snapshot
//   ORG/NAME, which is no path                the newest snapshot in the cache of the hub: HF_HUB_CACHE,
//                                             HUGGINGFACE_HUB_CACHE, HF_HOME/hub,
//                                             XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub
// and `given` itself for everything else, which a loader then refuses. Throws Error: Exit::usage for a folder with
// several GGUF files, Exit::bad_input for ORG/NAME that is not in the cache. Nothing is downloaded.
std::string model_path(const std::string& given);

}  // namespace sink
