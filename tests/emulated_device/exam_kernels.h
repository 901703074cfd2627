// All kernels of the exam.
#pragma once

#include <utility>

#include "tests/emulated_device/exam_block_kernels.h"
#include "tests/emulated_device/exam_graph_kernels.h"

namespace sink::test {

inline std::vector<ExamKernel> make_exam() {
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

}  // namespace sink::test
