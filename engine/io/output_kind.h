// What stands where a user wants a result (--out, --csv): a new result may take the place of an older one of its kind,
// not of anything else the user has.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sink {

struct OutputKind {
  const char* noun;  // "an evaluation of eval_<ablation> sink"
  // Whether the file at `path`, which is not empty, is one.
  std::function<bool(const std::string& path)> recognises;
};

// A kind that is told by how its files begin and by words that all have near their beginning.
OutputKind kind_by_text(const char* noun, const std::string& begin, std::vector<std::string> words = {});

// To be called before the work. Throws Error: Exit::usage where a file of another kind, or one that may not be written,
// stands at `path` (`force` lets it be replaced); Exit::io where there is no folder to write into. Links are followed;
// devices, pipes and empty files are no obstacle.
void require_output(const std::string& path, const OutputKind& kind, bool force);

}  // namespace sink
