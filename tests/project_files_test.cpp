// What the files around the sources promise: versions agree, paths that are named exist, the hosted check runs the
// tests, and the sanitizers see every policy.
#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace {

std::string text_of(const std::string& path) {
  const std::string file = std::string(SINK_SOURCE_DIR) + "/" + path;
  REQUIRE_MESSAGE(std::filesystem::exists(file), path);
  return sink::read_bytes(file);
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The first group of every match.
std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    found.push_back((*match)[1]);
  return found;
}

}  // namespace

TEST_CASE("project files: citation and changelog are of the version that CMake builds") {
  std::string version = matches(text_of("CMakeLists.txt"), "project\\(sinklab VERSION ([0-9.]+)").at(0);
  std::string citation = text_of("CITATION.cff"), changelog = text_of("CHANGELOG.md");
  for (std::string line : {"cff-version: 1.2.0\n", "message: ", "title: ", "authors:\n", "type: software\n"})
    CHECK_MESSAGE((citation.starts_with(line) || has(citation, "\n" + line)), line);
  CHECK(has(citation, "\nversion: " + version + "\n"));
  CHECK(has(citation, "10781"));
  CHECK(has(changelog, "\n## [Unreleased]\n"));
  CHECK(has(changelog, "\n## [" + version + "] - "));
}

TEST_CASE("project files: every path that CONTRIBUTING.md names is there") {
  int paths = 0;
  for (std::string path :
       matches(text_of("CONTRIBUTING.md"), "`([A-Za-z_.]+/[A-Za-z_./]+|[A-Z]+[a-zA-Z]*\\.[a-z]+)`")) {
    CHECK_MESSAGE(std::filesystem::exists(std::string(SINK_SOURCE_DIR) + "/" + path), path);
    ++paths;
  }
  CHECK(paths >= 12);
}

TEST_CASE("project files: the hosted check runs on every change what a submission has to pass, on both Debians") {
  std::string workflow = text_of(".github/workflows/ci.yml");
  for (std::string part : {"pull_request:", "push:", "run: .ci/run\n", "debian: [\"12\", \"13\"]", "debian:${{"})
    CHECK_MESSAGE(has(workflow, part), part);
  CHECK_FALSE(has(workflow, "\t"));
  CHECK(has(text_of(".ci/run"), "\nbash tools/test.sh --all\n"));
}

TEST_CASE("project files: the hosted page is made by the script that is tested, with packages of the tests") {
  const std::string workflow = text_of(".github/workflows/pages.yml"), setup = text_of("tools/setup.sh");
  const std::string script = matches(workflow, "python3 (tools/[a-z_/]+\\.py) site/index.html\n").at(0);
  CHECK(std::filesystem::exists(std::string(SINK_SOURCE_DIR) + "/" + script));
  CHECK(has(text_of("tests/tools/page_in_browser.py"), "\"" + script + "\""));
  for (const std::string& package : matches(workflow, " (\\S*(?:clang|lld|wasi|wasm)\\S*)"))
    CHECK_MESSAGE(has(setup, " " + package), package);
}

// Packages are asked for by name, from whatever index or mirror the machine is set up for.
TEST_CASE("project files: no file names a host of packages, models or images") {
  std::vector<std::string> hosts;
  for (std::string host : {"py@pi.org", "python@hosted.org", "deb.@debian.org", "security.@debian.org", "docker@.io",
                           "ghcr@.io", "quay@.io", "npm@js.org", "crates@.io", "ana@conda.org", "hugging@face.co"})
    hosts.push_back(host.erase(host.find('@'), 1));  // so that this file names none
  const std::set<std::string> ours{"engine", "autograd", "model", "eval",    "train",
                                   "tools",  "tests",    ".ci",   ".github", ".vscode"};
  int files = 0;
  auto look = [&](const std::filesystem::path& path) {
    std::string name = std::filesystem::relative(path, SINK_SOURCE_DIR).string(), text = text_of(name);
    for (const std::string& host : hosts) CHECK_MESSAGE(!has(text, host), name, " names ", host);
    ++files;
  };
  for (const auto& entry : std::filesystem::directory_iterator(SINK_SOURCE_DIR)) {
    if (entry.is_regular_file()) look(entry.path());
    if (!ours.contains(entry.path().filename().string())) continue;
    for (const auto& below : std::filesystem::recursive_directory_iterator(entry.path()))
      if (below.is_regular_file()) look(below.path());
  }
  CHECK(files >= 500);
}

TEST_CASE("project files: quickstart builds what its preset has, and the preset nothing else") {
  std::string preset = text_of("CMakePresets.json"), script = text_of("tools/quickstart.sh");
  preset = preset.substr(preset.find("\"name\": \"quickstart\""));
  preset = preset.substr(0, preset.find("}"));
  std::set<std::string> run, set;
  for (const std::string& name : matches(script, "\\b(?:train|eval)_([a-z_]+)\\b")) run.insert(name);
  std::string programs = matches(preset, "\"SINK_PROGRAMS\": \"([a-z0-9_;]+)\"").at(0);
  CHECK(programs == matches(preset, "\"SINK_ABLATION_SET\": \"([a-z0-9_;]+)\"").at(0));
  for (const std::string& name : matches(programs, "([a-z0-9_]+)")) set.insert(name);
  CHECK(run == set);
  CHECK(has(script, "\nbuild=build/quickstart "));
}

TEST_CASE("project files: the sanitizers compile an ablation of every policy") {
  std::string set = ";" + matches(text_of("CMakePresets.json"), "\"SINK_ABLATION_SET\": \"([a-z0-9_;]+)\"").at(0) + ";";
  std::set<std::string> policies, seen;
  std::string ablations = text_of("model/ablations.h");
  // Attention operations are compiled whatever the ablations are.
  std::regex structs("\nstruct ([a-z0-9_]+)[^{]*\\{([^}]*)\\};"), words("using (?!Attention)[A-Za-z]+ = ([^;]+);");
  for (std::sregex_iterator line(ablations.begin(), ablations.end(), structs), end; line != end; ++line) {
    std::string body = (*line)[2];
    for (std::sregex_iterator use(body.begin(), body.end(), words); use != end; ++use)
      for (const std::string& policy : matches((*use)[1], "([A-Z][A-Za-z0-9]+)")) {
        policies.insert(policy);
        if (has(set, ";" + (*line)[1].str() + ";")) seen.insert(policy);
      }
  }
  CHECK(policies.size() >= 30);
  for (const std::string& policy : policies)
    CHECK_MESSAGE(seen.contains(policy), policy, " is in no ablation of SINK_ABLATION_SET in CMakePresets.json");
}

TEST_CASE("project files: the editor starts programs that its task builds, of ablations that there are") {
  std::string launch = text_of(".vscode/launch.json"), tasks = text_of(".vscode/tasks.json");
  std::string ablations = text_of("model/ablations.h");
  std::vector<std::string> programs =
      matches(launch, "\"program\": \"\\$\\{workspaceFolder\\}/build/debug/train_(\\w+)\"");
  CHECK(programs.size() >= 2);
  for (const std::string& ablation : programs) {
    CHECK_MESSAGE(has(ablations, "struct " + ablation + " "), ablation);
    CHECK_MESSAGE(matches(tasks, "--target .*\\b(train_" + ablation + ")\\b").size() == 1, ablation);
  }
  for (const std::string& file : matches(launch, "source \\$\\{workspaceFolder\\}/([^\"]+)"))
    CHECK_MESSAGE(std::filesystem::exists(std::string(SINK_SOURCE_DIR) + "/" + file), file);
  for (const std::string& task : matches(launch, "\"preLaunchTask\": \"([^\"]+)\""))
    CHECK_MESSAGE(has(tasks, "\"label\": \"" + task + "\""), task);
}
