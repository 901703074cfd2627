#include "eval/token_sequences.h"

#include <vector>

#include "engine/io/file.h"
#include "engine/io/hdf5_reader.h"
#include "engine/io/parse_number.h"
#include "engine/io/printable.h"
#include "engine/io/utf8.h"
#include "engine/tensor_view.h"

namespace sink {
namespace {

constexpr const char* kTag = "tokens";
constexpr const char* kBetweenIds = " \t\r,";

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(path + ": " + why, Exit::bad_input);
}

std::vector<std::int32_t> ids_of_line(const std::string& line, const std::string& path, const std::string& where) {
  std::vector<std::int32_t> ids;
  for (std::size_t at = line.find_first_not_of(kBetweenIds); at != std::string::npos;
       at = line.find_first_not_of(kBetweenIds, at)) {
    std::size_t end = std::min(line.find_first_of(kBetweenIds, at), line.size());
    const std::optional<std::int32_t> id = parse_number<std::int32_t>(std::string_view(line).substr(at, end - at));
    if (!id)
      refuse(path, where + ": expected token ids, got " + in_quotes(std::string_view(line).substr(at, end - at)));
    ids.push_back(*id);
    at = end;
  }
  return ids;
}

Tensor read_text(const std::string& path, const std::string& text) {
  std::vector<std::int32_t> all;
  std::int64_t T = 0, N = 0, number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string where = "line " + std::to_string(++number);
    std::vector<std::int32_t> ids = ids_of_line(text.substr(begin, end - begin), path, where);
    begin = end + 1;
    if (ids.empty()) continue;
    if (N++ == 0) T = static_cast<std::int64_t>(ids.size());
    if (static_cast<std::int64_t>(ids.size()) != T)
      refuse(path, where + " has " + std::to_string(ids.size()) + " ids, the first sequence has " + std::to_string(T) +
                       "; all must be of one length");
    all.insert(all.end(), ids.begin(), ids.end());
  }
  return Tensor::from<std::int32_t>({N, T}, all);
}

Tensor read_hdf5(const std::string& path) {
  try {
    return Hdf5Reader(path).integers("tokens");
  } catch (const Hdf5Failure& failure) {
    refuse(path, std::string("expected a dataset `tokens` of integers: ") + failure.what());
  }
}

}  // namespace

Tensor read_token_sequences(const std::string& path, std::int64_t vocabulary, std::int64_t context,
                            std::int64_t min_tokens) {
  std::string bytes = read_file(kTag, path);
  Tensor tokens_NT = bytes.starts_with("\x89HDF\r\n\x1a\n")
                         ? read_hdf5(path)
                         : read_text(path, std::string(without_byte_order_mark(bytes)));
  if (tokens_NT.rank() != 2 || tokens_NT.size() == 0 || tokens_NT.dim(1) < min_tokens)
    refuse(path, std::string("expected N sequences of at least ") +
                     (min_tokens == 1 ? "one token id" : "two token ids") + ", got " + tokens_NT.shape().str());
  std::int64_t T = tokens_NT.dim(1);
  if (T > context)
    refuse(path, "sequences have " + std::to_string(T) + " tokens, the model takes at most " + std::to_string(context));
  auto ids_NT = view<std::int32_t, 2>(tokens_NT);
  for (std::int64_t n = 0; n < tokens_NT.dim(0); ++n)
    for (std::int64_t t = 0; t < T; ++t)
      if (std::int32_t id = ids_NT(n, t); id < 0 || id >= vocabulary)
        refuse(path, "token " + std::to_string(t + 1) + " of sequence " + std::to_string(n + 1) + " is " +
                         std::to_string(id) + "; expected an id from 0 to " + std::to_string(vocabulary - 1));
  return tokens_NT;
}

}  // namespace sink
