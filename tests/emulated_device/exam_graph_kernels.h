// Kernels of the exam with a thread per vertex or per edge of a graph.
#pragma once

#include "engine/rng.h"
#include "tests/emulated_device/exam_kernel.h"

namespace sink::test {

// Vertices and their neighbours: those of v are to[begin[v]] to to[begin[v + 1] - 1].
struct Graph {
  int vertices, edges;
  int *begin, *to, *from;  // from[e]: the source of edge e
};

// Every vertex has `degree` neighbours: the next ones, or all the first ones (a star), or random ones.
enum class Kind { ring, star, random };
inline Graph make_graph(Kind kind, int vertices, int degree) {
  std::vector<int> begin{0}, to, from;
  Rng rng(3, "exam");
  for (int v = 0; v < vertices; ++v) {
    for (int n = 0; n < degree; ++n) {
      int random = static_cast<int>(
          rng.below(static_cast<std::uint64_t>(v * degree + n), static_cast<std::uint64_t>(vertices - 1)));
      int u = kind == Kind::ring ? (v + 1 + n) % vertices : kind == Kind::star ? (v == n ? n + 1 : n) : random;
      to.push_back(u == v ? (v + 1) % vertices : u);
      from.push_back(v);
    }
    begin.push_back(static_cast<int>(to.size()));
  }
  return {vertices, static_cast<int>(to.size()), device_ints(begin), device_ints(to), device_ints(from)};
}

template <class T>
void add_vertex_kernels(std::vector<ExamKernel>& exam, const std::string& graph_name, const Graph& g,
                        const std::string& type) {
  const cuda::Grid per_vertex{cuda::blocks_for(g.vertices, 32), 32}, per_edge{cuda::blocks_for(g.edges, 64), 64};
  T *in = device_array<T>(g.vertices), *out = device_array<T>(g.vertices);
  auto add = [&](const std::string& pattern, const std::string& name, bool has_race, const cuda::Grid& grid,
                 auto body) {
    exam.push_back(exam_kernel(pattern, name + ", " + graph_name + ", " + type, has_race, grid, body));
  };
  add("pull", "sums of neighbours", false, per_vertex, [=] {
    int v = thread_of_grid();
    if (v >= g.vertices) return;
    T sum = 0;
    for (int e = g.begin[v]; e < g.begin[v + 1]; ++e) sum += in[g.to[e]];
    out[v] = sum;
  });
  add("pull", "in place", true, per_vertex, [=] {
    int v = thread_of_grid();
    if (v >= g.vertices) return;
    T sum = 0;
    for (int e = g.begin[v]; e < g.begin[v + 1]; ++e) sum += in[g.to[e]];
    in[v] = sum;
  });
  add("push", "plain additions", true, per_vertex, [=] {
    int v = thread_of_grid();
    if (v >= g.vertices) return;
    for (int e = g.begin[v]; e < g.begin[v + 1]; ++e) out[g.to[e]] += in[v];
  });
  add("push", "to own edges' sums", false, per_vertex, [=] {
    int v = thread_of_grid();
    if (v >= g.vertices) return;
    for (int e = g.begin[v]; e < g.begin[v + 1]; ++e) out[v] += in[v] + static_cast<T>(g.to[e]);
  });
  add("edges", "plain additions to the target", true, per_edge, [=] {
    int e = thread_of_grid();
    if (e < g.edges) out[g.to[e]] += 1;
  });
  add("edges", "the same value for the target", true, per_edge, [=] {
    int e = thread_of_grid();
    if (e < g.edges) out[g.to[e]] = 1;
  });
  add("condition", "a shared largest value, plain", true, per_vertex, [=] {
    int v = thread_of_grid();
    if (v<g.vertices&& static_cast<T>(g.to[g.begin[v]])> out[0] - 1000) out[0] = static_cast<T>(v);
  });
  add("condition", "a flag per vertex", false, per_vertex, [=] {
    int v = thread_of_grid();
    if (v < g.vertices && g.to[g.begin[v]] > v) out[v] = 1;
  });
}

template <class T>
void add_atomic_kernels(std::vector<ExamKernel>& exam, const std::string& graph_name, const Graph& g,
                        const std::string& type) {
  const cuda::Grid per_vertex{cuda::blocks_for(g.vertices, 32), 32}, per_edge{cuda::blocks_for(g.edges, 64), 64};
  T *in = device_array<T>(g.vertices), *out = device_array<T>(g.vertices), *count = device_array<T>(1);
  T* list = device_array<T>(100 * g.edges);  // the counter grows over the schedules
  auto add = [&](const std::string& pattern, const std::string& name, bool has_race, const cuda::Grid& grid,
                 auto body) {
    exam.push_back(exam_kernel(pattern, name + ", " + graph_name + ", " + type, has_race, grid, body));
  };
  add("push", "atomic additions", false, per_vertex, [=] {
    int v = thread_of_grid();
    if (v >= g.vertices) return;
    for (int e = g.begin[v]; e < g.begin[v + 1]; ++e) atomic_add(&out[g.to[e]], in[v]);
  });
  add("push", "atomic additions after a plain test", true, per_vertex, [=] {
    int v = thread_of_grid();
    if (v >= g.vertices) return;
    for (int e = g.begin[v]; e < g.begin[v + 1]; ++e)
      if (out[g.to[e]] < 1000000) atomic_add(&out[g.to[e]], T{1});
  });
  add("push", "atomic additions after an atomic test", false, per_vertex, [=] {
    int v = thread_of_grid();
    if (v >= g.vertices) return;
    for (int e = g.begin[v]; e < g.begin[v + 1]; ++e)
      if (atomic_load(&out[g.to[e]]) < 1000000) atomic_add(&out[g.to[e]], T{1});
  });
  add("worklist", "a plain counter", true, per_vertex, [=] {
    int v = thread_of_grid();
    if (v < g.vertices) list[(*count)++ % g.edges] = static_cast<T>(v);
  });
  add("worklist", "an atomic counter", false, per_vertex, [=] {
    int v = thread_of_grid();
    if (v < g.vertices) list[atomic_add(count, T{1}) % g.edges] = static_cast<T>(v);
  });
  add("worklist", "an atomic counter, and all write the first places", true, per_vertex, [=] {
    int v = thread_of_grid();
    if (v < g.vertices) list[atomic_add(count, T{1}) % 4] = static_cast<T>(v);
  });
  add("worklist", "an atomic counter, and a thread reads it", true, per_vertex, [=] {
    int v = thread_of_grid();
    if (v < g.vertices) atomic_add(count, T{1});
    if (v == 0) out[0] = *count;
  });
  add("edges", "atomic additions to the target", false, per_edge, [=] {
    int e = thread_of_grid();
    if (e < g.edges) atomic_add(&out[g.to[e]], T{1});
  });
  add("edges", "atomic additions by some threads, plain by others", true, per_edge, [=] {
    int e = thread_of_grid();
    if (e >= g.edges) return;
    if (e % 2 == 0)
      atomic_add(&out[g.to[e]], T{1});
    else
      out[g.to[e]] += 1;
  });
}

// Each vertex follows its parents to the root.
inline void add_path_kernels(std::vector<ExamKernel>& exam, int vertices) {
  std::vector<int> up(static_cast<std::size_t>(vertices));
  for (int v = 0; v < vertices; ++v) up[static_cast<std::size_t>(v)] = v / 2;
  int *parent = device_ints(up), *other = device_ints(up), *root = device_array<int>(vertices);
  const cuda::Grid grid{cuda::blocks_for(vertices, 32), 32};
  const std::string size = std::to_string(vertices) + " vertices";
  exam.push_back(exam_kernel("path", "roots, " + size, false, grid, [=] {
    int v = thread_of_grid(), u = v;
    if (v >= vertices) return;
    while (parent[u] != u) u = parent[u];
    root[v] = u;
  }));
  exam.push_back(exam_kernel("path", "compression, " + size, true, grid, [=] {
    int v = thread_of_grid(), u = v;
    if (v >= vertices) return;
    while (other[u] != other[other[u]]) u = other[u] = other[other[u]];
    other[v] = other[u];
  }));
}

}  // namespace sink::test
