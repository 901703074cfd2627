// Runs a fuzz target without libFuzzer, where the compiler has none: each file of the corpus, then simple mutations of
// them. `<target> [-max_total_time=SECONDS] [-artifact_prefix=PREFIX] FILE_OR_FOLDER...`; other flags are ignored. An
// input that ends the process is found in PREFIXlast.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void run(const Bytes& input, const std::string& prefix) {
  std::ofstream(prefix + "last", std::ios::binary)
      .write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

// A few flips, cuts, copies and unusual integers.
Bytes mutated(Bytes bytes, const Bytes& other, std::mt19937_64& random) {
  for (std::uint64_t edits = 1 + random() % 4; edits > 0 && !bytes.empty(); --edits) {
    std::size_t at = random() % bytes.size(), length = std::min<std::size_t>(1 + random() % 16, bytes.size() - at);
    auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 6) {
      case 0:
        *place ^= static_cast<std::uint8_t>(1u << random() % 8);
        break;
      case 1:
        *place = static_cast<std::uint8_t>(random());
        break;
      case 2:
        std::fill_n(place, length, random() % 2 ? 0xFF : 0x00);
        break;
      case 3:
        bytes.erase(place, place + static_cast<std::ptrdiff_t>(length));
        break;
      case 4: {
        Bytes copy(place, place + static_cast<std::ptrdiff_t>(length));
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(random() % bytes.size()), copy.begin(), copy.end());
        break;
      }
      default:
        if (at < other.size())
          std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(at), std::min(length, other.size() - at), place);
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 0;
  std::string prefix = "fuzz-";
  std::vector<Bytes> corpus;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word.starts_with("-max_total_time=")) seconds = std::atof(word.c_str() + 16);
    if (word.starts_with("-artifact_prefix=")) prefix = word.substr(17);
    if (word.starts_with("-")) continue;
    if (fs::is_directory(word)) {
      for (const auto& entry : fs::directory_iterator(word)) corpus.push_back(bytes_of(entry.path()));
    } else {
      corpus.push_back(bytes_of(word));
    }
  }
  auto start = std::chrono::steady_clock::now();
  std::uint64_t runs = 0;
  for (const Bytes& input : corpus) run(input, prefix), ++runs;
  std::mt19937_64 random(1);
  auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  while (!corpus.empty() && passed() < seconds) {
    const Bytes &input = corpus[random() % corpus.size()], &other = corpus[random() % corpus.size()];
    run(mutated(input, other, random), prefix);
    ++runs;
  }
  fs::remove(prefix + "last");
  std::fprintf(stderr, "Done %llu runs in %.0f second(s)\n", static_cast<unsigned long long>(runs), passed());
  return 0;
}
