// Checks the destination of a result (--out, --csv): a result replaces an older one of its kind, but no other file.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace sink {

struct OutputKind {
  const char* noun;  // "an evaluation of eval_<ablation> sink"
  // Whether the non-empty file at `path` is of this kind.
  std::function<bool(const std::string& path)> recognises;
};

// A kind recognised by the beginning of its files and by words in their first 64 KiB.
OutputKind kind_by_text(const char* noun, const std::string& begin, std::vector<std::string> words = {});

// Call this before the work. Throws Error: Exit::usage where `path` is a file of another kind or write-protected
// (unless `force`); Exit::io where its folder cannot be written. Links are followed; devices, pipes and empty files are
// accepted.
void require_output(const std::string& path, const OutputKind& kind, bool force);

// Throws Error (Exit::usage) where two flags name one file, of which only the later result would be left. Devices may
// be named twice, and an empty path is no file.
struct FlagPath {
  std::string flag, path;
};
void require_two_files(const FlagPath& one, const FlagPath& other);

}  // namespace sink
