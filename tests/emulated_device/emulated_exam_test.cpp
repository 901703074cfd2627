// The race detector of the emulated device against the kernels of the exam: which it reports, by pattern.
//
// SINK_EXAM_SCHEDULES=30 runs 30 schedules instead of two, and prints the tables of README.md.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/check.h"
#include "tests/emulated_device/exam_block_kernels.h"
#include "tests/emulated_device/exam_graph_kernels.h"
#include "tests/support/schedules.h"

using namespace sink;
using namespace sink::test;

namespace {

std::vector<ExamKernel> make_exam() {
  std::vector<ExamKernel> exam;
  const std::pair<std::string, Graph> graphs[] = {{"ring", make_graph(Kind::ring, 70, 2)},
                                                  {"star", make_graph(Kind::star, 70, 2)},
                                                  {"random", make_graph(Kind::random, 70, 4)}};
  for (const auto& [name, graph] : graphs) {
    add_vertex_kernels<int>(exam, name, graph, "int");
    add_vertex_kernels<float>(exam, name, graph, "float");
    add_atomic_kernels<int>(exam, name, graph, "int");
    add_atomic_kernels<long long>(exam, name, graph, "long long");
  }
  for (int vertices : {40, 200}) add_path_kernels(exam, vertices);
  for (int threads : {64, 128}) {
    add_block_kernels<int>(exam, threads, "int");
    add_block_kernels<double>(exam, threads, "double");
    add_asynchronous_kernels(exam, threads);
  }
  add_hard_kernels(exam);
  return exam;
}

struct Count {
  int reported = 0, all = 0;

  // Wilson's 95 % interval of the rate, in percent.
  std::string text() const {
    if (all == 0) return "-";
    double z = 1.959964, n = all, p = reported / n, center = p + z * z / (2 * n),
           half = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n)), scale = 100 / (1 + z * z / n);
    char text[64];
    std::snprintf(text, sizeof text, "%d/%d (%.1f-%.1f %%)", reported, all, (center - half) * scale,
                  (center + half) * scale);
    return text;
  }
};

bool is_reported(const ExamKernel& kernel) {
  try {
    kernel.launch();
  } catch (const Error&) { return true; }
  return false;
}

}  // namespace

TEST_CASE("exam: races are reported, and nothing else, but for the patterns that are known") {
  // Of the reads of an element the last two threads are recorded. Accesses are recorded by two bytes, and the order
  // that an atomic counter makes between blocks is not known.
  const std::set<std::string> known_misses{"readers: all but one warp are waited for"};
  const std::set<std::string> known_false_alarms{"narrow: neighbouring bytes",
                                                 "last block: with a fence and an atomic counter"};
  const char* wanted = std::getenv("SINK_EXAM_SCHEDULES");
  std::vector<unsigned> schedules{0, 7};
  if (wanted) {
    schedules.clear();
    for (unsigned schedule = 0; schedule < static_cast<unsigned>(std::atoi(wanted)); ++schedule)
      schedules.push_back(schedule);
  }
  std::vector<ExamKernel> exam = make_exam();
  CHECK(exam.size() == 261);  // README.md has these counts
  CHECK(std::count_if(exam.begin(), exam.end(), [](const ExamKernel& kernel) { return kernel.has_race; }) == 145);
  Count racy, free, racy_trials, free_trials;
  std::map<std::string, Count> racy_patterns, free_patterns;
  std::vector<std::string> errors;
  cuda::FindRaces on;
  for (const ExamKernel& kernel : exam) {
    int reports = 0;
    for (unsigned schedule : schedules) {
      cuda::Schedule only(schedule);
      reports += is_reported(kernel);
    }
    const auto all = static_cast<int>(schedules.size());
    const std::string name = kernel.name.substr(0, kernel.name.rfind(',', kernel.name.rfind(',') - 1));
    (kernel.has_race ? racy : free).all += 1;
    (kernel.has_race ? racy : free).reported += reports > 0;
    Count& trials = kernel.has_race ? racy_trials : free_trials;
    trials.all += all;
    trials.reported += reports;
    Count& pattern = (kernel.has_race ? racy_patterns : free_patterns)[kernel.pattern];
    pattern.all += 1;
    pattern.reported += kernel.has_race ? reports == all : reports > 0;
    auto is_known = [&](const std::set<std::string>& names) {
      for (const std::string& known : names)
        if (kernel.name.starts_with(known)) return true;
      return false;
    };
    if (kernel.has_race && reports < all) {
      CHECK_MESSAGE(is_known(known_misses), "not reported under ", all - reports, " schedules: ", kernel.name);
      errors.push_back("missed under " + std::to_string(all - reports) + " of " + std::to_string(all) +
                       " schedules: " + kernel.name);
    }
    if (!kernel.has_race && reports > 0) {
      CHECK_MESSAGE(is_known(known_false_alarms), "a false alarm: ", kernel.name);
      errors.push_back("a false alarm under " + std::to_string(reports) + " of " + std::to_string(all) +
                       " schedules: " + kernel.name);
    }
  }
  if (!wanted) return;
  std::printf("%zu kernels, %zu schedules\n", exam.size(), schedules.size());
  std::printf("recall, kernels reported under some schedule: %s; trials: %s\n", racy.text().c_str(),
              racy_trials.text().c_str());
  std::printf("precision, kernels: %s; trials: %s\n",
              Count{racy.reported, racy.reported + free.reported}.text().c_str(),
              Count{racy_trials.reported, racy_trials.reported + free_trials.reported}.text().c_str());
  std::printf("| pattern | racy kernels reported under every schedule | false alarms |\n|---|---|---|\n");
  std::set<std::string> patterns;
  for (const ExamKernel& kernel : exam) patterns.insert(kernel.pattern);
  for (const std::string& name : patterns)
    std::printf("| %s | %s | %s |\n", name.c_str(), racy_patterns[name].text().c_str(),
                free_patterns[name].text().c_str());
  for (const std::string& error : errors) std::printf("%s\n", error.c_str());
}
