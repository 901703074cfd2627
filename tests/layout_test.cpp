// The rules of the house that a compiler does not see.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = SINK_SOURCE_DIR;
const std::vector<std::string> kFolders{"engine", "autograd", "model", "train", "eval", "tools", "tests"};
const std::set<std::string> kSources{".h", ".cpp", ".cu", ".cuh"}, kHeaders{".h", ".cuh"};

std::vector<fs::path> files_under(const std::string& folder, const std::set<std::string>& extensions) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder))
    if (entry.is_regular_file() && extensions.contains(entry.path().extension().string()))
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const fs::path& path) { return sink::read_bytes(path); }

bool any_mentions(const std::string& folder, const std::string& text) {
  auto files = files_under(folder, kSources);
  return std::any_of(files.begin(), files.end(),
                     [&](const fs::path& path) { return text_of(path).find(text) != std::string::npos; });
}

std::vector<std::string> includes_of(const fs::path& path) {
  std::vector<std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("#include ")) names.push_back(line.substr(10, line.find_first_of("\">", 10) - 10));
  return names;
}

// A reference, what is in namespace sink::ref, computes in double alone.
void check_in_double(const fs::path& path) {
  const std::string text = text_of(path);
  const std::size_t begin = text.find("namespace sink::ref {"), end = text.find("}  // namespace sink::ref");
  CHECK_MESSAGE(end != std::string::npos, path.filename().string(), " has no reference");
  for (std::string type : {"float", "bf16", "with_real", "F32", "BF16"})
    CHECK_MESSAGE(text.substr(begin, end - begin).find(type) == std::string::npos, path.filename().string(), " has ",
                  type);
}

bool declares_backends(const std::string& text) {
  return text.find("\nSINK_BACKENDS(") != std::string::npos ||
         text.find("\nSINK_DECLARE_BACKENDS(") != std::string::npos;
}

}  // namespace

TEST_CASE("layout: what a notify follows is a read-modify-write") {
  // notify_one() and notify_all() of libstdc++ skip the call of the kernel if they see no thread that waits. A plain
  // store before them may become visible after that look, so a thread that begins to wait then is never woken.
  const std::regex lost_wake(R"(\.store\([^;]*;\s*[\w\[\]>.-]*\.notify_)");
  CHECK(std::regex_search("turn[n].store(1);\n  turn[n].notify_all();", lost_wake));
  for (const std::string& folder : kFolders)
    for (const fs::path& path : files_under(folder, kSources)) {
      const std::string text = text_of(path);
      if (path.filename() == "layout_test.cpp" || text.find(".notify_") == std::string::npos) continue;
      CHECK_MESSAGE(!std::regex_search(text, lost_wake), path.string());
    }
}

TEST_CASE("layout: a NaN among the errors that a test compares is not lost") {
  // std::max(worst, NaN) is worst, and after `worst = NaN` the next error replaces it. keep_worst() has neither fault.
  const std::regex lost_nan(
      R"((\w+) = std::max\(\1, (std::)?f?abs\(.* - |if \(!\((\w+) <= (\w+)\)\) \4 = \3;|(\w+) <= (\w+) \? \6 : \5;)");
  for (const char* faulty : {"worst = std::max(worst, std::abs(x.item(n) - y.item(n)));",
                             "if (!(error <= worst)) worst = error;", "worst = error <= worst ? worst : error;"})
    CHECK_MESSAGE(std::regex_search(faulty, lost_nan), faulty);
  CHECK_FALSE(std::regex_search("largest = std::max(largest, std::abs(y.item(n)));", lost_nan));
  for (const fs::path& path : files_under("tests", kSources)) {
    if (path.filename() == "layout_test.cpp") continue;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      if (line.find("std::max(") != std::string::npos || line.find(" <= ") != std::string::npos)
        CHECK_MESSAGE(!std::regex_search(line, lost_nan), path.string(), ": ", line);
  }
}

TEST_CASE("layout: every operation has a contract, a reference, a CPU and a CUDA backend, a node and a test") {
  const std::set<std::string> without_gradient{"optimizer", "reductions"};
  std::map<std::string, int> operations;  // by folder
  for (const fs::path& path : files_under("engine/ops", kHeaders)) {
    if (!declares_backends(text_of(path))) continue;
    const std::string op = path.stem().string(), folder = path.parent_path().filename().string();
    CAPTURE(op);
    ++operations[folder];
    for (std::string file : {op + "_ref.cpp", op + "_cpu.cpp", op + "_cuda.cu"})
      CHECK_MESSAGE(fs::exists(path.parent_path() / file), file);
    if (!without_gradient.contains(folder))
      CHECK_MESSAGE(any_mentions("autograd/ops", fs::relative(path, kRoot).string()), "a node");
    const std::string test = text_of(kRoot / "tests/engine/ops" / (op + "_test.cpp"));
    const bool every_backend = op == "attention" || test.find(" check_backends(") != std::string::npos;
    CHECK_MESSAGE(every_backend, "tests/engine/ops/", op, "_test.cpp does not run every backend");
    const fs::path reference = path.parent_path() / (op + "_ref.cpp");
    CHECK_MESSAGE(text_of(reference).find("SINK_SELECT(") != std::string::npos, op, " selects no backend");
    check_in_double(reference);
  }
  for (const auto& entry : fs::directory_iterator(kRoot / "engine/ops"))
    if (std::string folder = entry.path().filename().string(); entry.is_directory() && folder != "attention")
      CHECK_MESSAGE(operations.contains(folder), "engine/ops/", folder, " has no operation");
  CHECK(operations.size() >= 10);
}

// Their loops are those of the operation update.h, so the header of one has the formula alone: in double, and as
// constants and an element of any type.
TEST_CASE("layout: every element-wise update has a reference in double, is compiled, and is part of an optimizer") {
  const fs::path folder = kRoot / "engine/ops/optimizer";
  const std::string compiled = text_of(folder / "updates.h");
  int updates = 0;
  for (const fs::path& path : files_under("engine/ops/optimizer", kHeaders)) {
    if (text_of(path).find(" : ElementUpdate {") == std::string::npos) continue;
    const std::string op = path.stem().string();
    ++updates;
    check_in_double(path);
    CHECK_MESSAGE(compiled.find("/" + op + ".h\"\n") != std::string::npos, op, " is not in updates.h");
    CHECK_MESSAGE(any_mentions("train/optimizers", "optimizer/" + op + ".h"), "no optimizer has ", op,
                  ", so optimizer_golden_test does not compare its formula");
  }
  CHECK(updates >= 4);
}

// Its backends are templates, compiled once per operation.
TEST_CASE("layout: attention has a room for each backend") {
  const fs::path attention = kRoot / "engine/ops/attention";
  for (std::string file : {"attention.h", "op/attention_ops.h", "ref/attention_ref.h", "cpu/attention_cpu.h",
                           "cuda/attention_cuda.h", "cuda/attention_forward_cuda.cuh"}) {
    CHECK_MESSAGE(fs::exists(attention / file), file);
    CHECK_MESSAGE(text_of(attention / "README.md").find(file.substr(file.find('/') + 1)) != std::string::npos, file);
  }
  CHECK(text_of(attention / "attention_dispatch.h").find("SINK_SELECT(") != std::string::npos);
  const std::string listed = text_of(attention / "op/attention_ops.h");
  int operations = 0;
  for (const auto& entry : fs::directory_iterator(attention / "op")) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".h") || file.starts_with("attention_") || file.starts_with("operation_") ||
        file.starts_with("written_"))
      continue;
    ++operations;
    CHECK_MESSAGE(listed.find("/op/" + file + "\"") != std::string::npos, file);
    std::smatch name;
    const std::string text = text_of(entry.path());
    REQUIRE_MESSAGE(std::regex_search(text, name, std::regex("\nstruct (\\w+)")), file);
    CHECK_MESSAGE(listed.find("F(" + name[1].str() + ")") != std::string::npos, file);
  }
  CHECK(operations >= 19);
  for (std::string file : {"attention_ref.h", "attention_head_ref.h", "attention_trace_ref.h"})
    check_in_double(attention / "ref" / file);
}

TEST_CASE("layout: implementations are selected by their contracts alone") {
  const std::set<std::string> set_the_switch{"engine/implementation.h", "train/trainer.cpp",
                                             "engine/io/compute_options.cpp"};
  for (std::string folder : {"engine", "autograd", "model", "eval", "train", "tools"})
    for (const fs::path& path : files_under(folder, kSources)) {
      std::string where = fs::relative(path, kRoot).string(), text = text_of(path);
      bool selects =
          text.find("use_reference()") != std::string::npos || text.find("runs_reference(") != std::string::npos;
      CHECK_MESSAGE((!selects || set_the_switch.contains(where)), where, " asks which implementation runs");
      if (where.starts_with("engine/ops/attention/")) continue;          // attention_dispatch.h selects
      if (where == "tools/gpu/kernels/attention_kernels.cpp") continue;  // kernels.so is the CUDA backend
      const bool selects_backend = text.find("SINK_SELECT(") != std::string::npos;
      CHECK_MESSAGE((!selects_backend || where == "engine/implementation.h" || where == "engine/ops/backends.h" ||
                     (where.starts_with("engine/ops/") && where.ends_with("_ref.cpp"))),
                    where, " selects a backend");
      for (const std::string& name : includes_of(path))
        for (std::string backend : {"_ref.h", "_cpu.h", "_cuda.h"})
          CHECK_MESSAGE(!name.ends_with(backend), where, " includes ", name);
    }
}

// Kernels say nothing that g++ does not understand: so every one of them runs on the emulated device.
TEST_CASE("layout: what only CUDA can say is said in five files") {
  const std::set<std::string> may{"engine/cuda/device.cuh", "engine/cuda/instructions.cuh",
                                  "engine/cuda/matrix_instructions.cuh", "engine/cuda/approx_instructions.cuh",
                                  "engine/cuda/hopper_instructions.cuh"};
  const std::vector<std::string> only_cuda{"asm ",          "asm(",          "<<<",        "__shared__", "__shfl",
                                           "__CUDA_ARCH__", "__syncthreads", "__syncwarp", "atomicAdd"};
  int kernels = 0;
  for (std::string folder : {"engine", "autograd", "model", "eval", "train", "tools"})
    for (const fs::path& path : files_under(folder, kSources)) {
      std::string where = fs::relative(path, kRoot).string(), text = text_of(path);
      kernels += text.find("__global__ void") != std::string::npos;
      const bool is_cpu = where.find("/cpu/") != std::string::npos;  // whose asm is the processor's
      for (const std::string& words : only_cuda) {
        const bool allowed = may.contains(where) || (is_cpu && words.starts_with("asm"));
        CHECK_MESSAGE((allowed || text.find(words) == std::string::npos), where, " has ", words);
      }
    }
  CHECK(kernels >= 10);
}

namespace {

// Every ```cpp block of a page names its file in its first line and quotes it in order; `...` leaves lines out. Returns
// how many there are.
int check_quotes(const fs::path& path) {
  CAPTURE(path);
  std::ifstream page(path);
  std::string line, text, piece;
  std::size_t at = 0;
  int blocks = 0;
  auto find_piece = [&] {
    std::size_t found = text.find(piece, at);
    CHECK_MESSAGE(found != std::string::npos, piece);
    if (found != std::string::npos) at = found + piece.size();
    piece.clear();
  };
  while (std::getline(page, line)) {
    if (line != "```cpp") continue;
    ++blocks;
    std::string file;
    std::getline(page, file);
    CAPTURE(file);
    text = text_of(kRoot / file.substr(3));
    at = 0;
    while (std::getline(page, line) && line != "```") {
      if (line == "...")
        find_piece();
      else
        piece += line + "\n";
    }
    find_piece();
  }
  return blocks;
}

}  // namespace

TEST_CASE("layout: the page on adding an operation and the tour quote their files as they stand") {
  CHECK(check_quotes(kRoot / "engine/ops/ADD_AN_OPERATION.md") >= 8);
  int of_tour = 0;
  for (const auto& entry : fs::directory_iterator(kRoot / "tools/tour"))
    if (entry.path().extension() == ".md") of_tour += check_quotes(entry.path());
  CHECK(of_tour >= 9);
}

TEST_CASE("layout: every node of autograd/ops is in a test that checks gradients") {
  std::string tests;
  for (const std::string folder : {"tests/autograd", "tests/engine/ops"})
    for (const fs::path& path : files_under(folder, kSources))
      if (const std::string text = text_of(path); text.find("check_gradient(") != std::string::npos) tests += text;
  for (const fs::path& path : files_under("autograd/ops", kHeaders))
    CHECK_MESSAGE(tests.find(path.filename().string()) != std::string::npos, path.filename().string());
}

TEST_CASE("layout: base names are unique, so that `break file:line` means one place") {
  std::map<std::string, std::string> seen;
  for (const std::string& folder : kFolders)
    for (const fs::path& path : files_under(folder, kSources)) {
      std::string name = path.filename().string(), where = fs::relative(path, kRoot).string();
      if (name == "main.cpp") continue;
      CHECK_MESSAGE(!seen.contains(name), where, " and ", seen[name]);
      seen[name] = where;
    }
}

namespace {

// The other folders that a file of a folder may include: those that a chain of arrows in CODE_MAP.md leads to.
using Arrows = std::map<std::string, std::set<std::string>>;

// CODE_MAP.md's sentence "Dependencies point leftwards: `a` <- `b` (words) <- `c`, `a` <- `d`;".
Arrows drawn_in_code_map() {
  const std::string start = "Dependencies point leftwards:", map = text_of(kRoot / "CODE_MAP.md");
  std::size_t begin = map.find(start);
  REQUIRE(begin != std::string::npos);
  const std::string sentence = map.substr(begin, map.find(';', begin) - begin);
  Arrows arrows;
  std::string left;
  for (std::size_t at = 0, before = 0; (at = sentence.find('`', at)) != std::string::npos;) {
    std::size_t end = sentence.find('`', at + 1);
    const std::string name = sentence.substr(at + 1, end - at - 1);
    arrows[name];
    if (sentence.substr(before, at - before).find("<-") != std::string::npos) arrows[name].insert(left);
    left = name;
    before = at = end + 1;
  }
  for (std::size_t round = 0; round < arrows.size(); ++round)  // what is reached through others
    for (auto& [name, reached] : arrows)
      for (const std::string& other : std::set<std::string>(reached))
        reached.insert(arrows[other].begin(), arrows[other].end());
  return arrows;
}

// "engine/io" for engine/io/file.h, "engine" for engine/tensor.h: the longest folder with an arrow that contains it.
std::string folder_of(const std::string& path, const Arrows& arrows) {
  std::string longest;
  for (const auto& [name, reached] : arrows)
    if (path.starts_with(name + "/") && name.size() > longest.size()) longest = name;
  return longest.empty() ? path.substr(0, path.find('/')) : longest;
}

}  // namespace

TEST_CASE("layout: a folder includes only folders that the arrows of CODE_MAP.md lead to") {
  const Arrows arrows = drawn_in_code_map();
  for (const std::string& folder : kFolders) {
    if (folder != "tests") CHECK_MESSAGE(arrows.contains(folder), folder, " has no arrow in CODE_MAP.md");
  }
  for (const auto& [name, reached] : arrows) {
    CHECK_MESSAGE(fs::is_directory(kRoot / name), name, " has an arrow, but is no folder");
    CHECK_MESSAGE(!reached.contains(name), "the arrows of ", name, " go round in a circle");
  }
  int seen = 0;
  for (const std::string& folder : kFolders) {
    if (folder == "tests") continue;  // may include everything, and is included only by itself
    for (const fs::path& path : files_under(folder, kSources)) {
      std::string where = fs::relative(path, kRoot).string(), own = folder_of(where, arrows);
      for (const std::string& name : includes_of(path)) {
        std::string other = folder_of(name, arrows);
        if (other == own ||
            std::find(kFolders.begin(), kFolders.end(), name.substr(0, name.find('/'))) == kFolders.end())
          continue;
        ++seen;
        CHECK_MESSAGE(arrows.at(own).contains(other), where, " includes ", name);
      }
    }
  }
  CHECK(seen > 200);
}

namespace {

// The headers from `file` back to itself, or none.
std::string circle_from(const std::string& file, std::vector<std::string>& path, std::set<std::string>& done) {
  if (auto again = std::find(path.begin(), path.end(), file); again != path.end()) {
    std::string circle;
    for (; again != path.end(); ++again) circle += *again + " -> ";
    return circle + file;
  }
  if (done.contains(file)) return "";
  path.push_back(file);
  std::string circle;
  for (const std::string& name : includes_of(kRoot / file))
    if (circle.empty() && name.find('/') != std::string::npos && fs::exists(kRoot / name))
      circle = circle_from(name, path, done);
  path.pop_back();
  done.insert(file);
  return circle;
}

}  // namespace

// It runs on a borrowed GPU, where a missing file costs the lease.
TEST_CASE("layout: the build script of kernels.so names files that exist") {
  const std::string text = text_of(kRoot / "tools/gpu/kernels/build.sh");
  const std::regex source(R"(\bengine/[a-z0-9_/]+\.(cpp|cu)\b)");
  std::sregex_iterator begin(text.begin(), text.end(), source), end;
  CHECK(std::distance(begin, end) >= 8);
  for (auto file = begin; file != end; ++file) CHECK_MESSAGE(fs::exists(kRoot / file->str()), file->str());
}

TEST_CASE("layout: no header includes itself through others") {
  std::set<std::string> done;
  for (const std::string& folder : kFolders)
    for (const fs::path& header : files_under(folder, kHeaders)) {
      std::vector<std::string> path;
      const std::string circle = circle_from(fs::relative(header, kRoot).string(), path, done);
      CHECK_MESSAGE(circle.empty(), circle);
    }
}

TEST_CASE("layout: slow headers and libraries stay out of the engine and the model") {
  const std::vector<std::string> everywhere{"CLI/CLI.hpp", "random"},
      core{"hdf5.h", "nlohmann/json.hpp", "iostream", "ranges"};
  for (std::string folder : {"engine", "autograd", "model"})
    for (const fs::path& path : files_under(folder, kSources)) {
      std::string where = fs::relative(path, kRoot).string();
      for (const std::string& name : includes_of(path)) {
        bool slow = std::find(everywhere.begin(), everywhere.end(), name) != everywhere.end();
        bool is_core = folder == "autograd" ||
                       (folder == "engine" && !where.starts_with("engine/io") && !where.starts_with("engine/data"));
        slow &= where != "engine/io/compute_options.cpp" &&
                !where.starts_with("engine/io/command_line");  // shared by programs
        slow |= is_core && std::find(core.begin(), core.end(), name) != core.end();
        CHECK_MESSAGE(!slow, where, " includes ", name);
      }
    }
}

// A source says what it owns, or begins with its own header, which does.
TEST_CASE("layout: a file opens with a sentence on what it owns, and stays short") {
  std::set<std::string> sources = kSources;
  sources.insert(".js");
  for (const std::string& folder : kFolders)
    for (const fs::path& path : files_under(folder, sources)) {
      std::string text = text_of(path), where = fs::relative(path, kRoot).string();
      std::string own = fs::path(where).replace_extension().string();
      bool header = kHeaders.contains(path.extension().string());
      bool named = !header && (text.starts_with("#include \"" + own + ".h\"\n") ||
                               text.starts_with("#include \"" + own + ".cuh\"\n"));
      CHECK_MESSAGE((text.starts_with("// ") || named), where);
      if (folder != "tests" || header) CHECK_MESSAGE(std::count(text.begin(), text.end(), '\n') <= 400, where);
    }
}
