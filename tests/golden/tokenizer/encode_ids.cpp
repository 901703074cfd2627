// encode_ids TOKENIZER DOCUMENTS IDS [TIMES [plain|special [DECODED]]]: the ids of documents, for comparison with
// another program. DOCUMENTS holds, for each, its length in bytes as a little-endian u32 and then its UTF-8; IDS gets,
// for each, the number of ids and then the ids as i32, those that a text begins and ends with included if "special".
// With TIMES the whole is encoded so often, each time with an empty cache, and the best time of the processor is
// printed in seconds. DECODED gets what the ids are decoded to, in the form of DOCUMENTS.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "engine/check.h"
#include "engine/data/tokenizer/tokenizer.h"
#include "engine/io/file.h"
#include "engine/io/program.h"

using namespace sink;

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  return run_program("encode_ids", [&] {
    Tokenizer tokenizer = Tokenizer::load(argv[1]);
    std::string file = read_file("encode_ids", argv[2]);
    std::vector<std::string_view> documents;
    for (std::size_t at = 0; at + 4 <= file.size();) {
      std::uint32_t size;
      std::memcpy(&size, file.data() + at, 4);
      documents.push_back(std::string_view(file).substr(at + 4, size));
      at += 4 + size;
    }
    bool special = argc > 5 && std::string_view(argv[5]) == "special";
    std::string ids, decoded;
    double best = 1e30;
    for (int times = argc > 4 ? std::stoi(argv[4]) : 1; times > 0; --times) {
      EncodeCache cache;
      std::vector<std::vector<std::int32_t>> encoded;
      std::clock_t start = std::clock();
      for (std::string_view document : documents)
        encoded.push_back(special ? tokenizer.encode_with_special_tokens(document, cache)
                                  : tokenizer.encode(document, cache));
      best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
      ids.clear();
      decoded.clear();
      for (const auto& own : encoded) {
        auto count = static_cast<std::uint32_t>(own.size());
        ids.append(reinterpret_cast<const char*>(&count), 4);
        ids.append(reinterpret_cast<const char*>(own.data()), 4 * own.size());
        if (argc <= 6) continue;
        std::string text = tokenizer.decode(own);
        count = static_cast<std::uint32_t>(text.size());
        decoded.append(reinterpret_cast<const char*>(&count), 4).append(text);
      }
    }
    write_file_atomically(argv[3], ids);
    if (argc > 6) write_file_atomically(argv[6], decoded);
    std::printf("%.6f\n", best);
    return 0;
  });
}
