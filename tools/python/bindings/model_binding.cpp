// Models: loading, forward passes, generation, sink scores and parameters.
#include <nanobind/nanobind.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <span>

#include "autograd/tape.h"
#include "engine/io/printable.h"
#include "engine/storage.h"
#include "engine/stored/stored_matrix.h"
#include "engine/threads.h"
#include "eval/generate/continuation.h"
#include "model/all_ablations.h"
#include "tools/python/bindings/activation_hooks.h"
#include "tools/python/bindings/arrays.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/computation.h"
#include "tools/python/bindings/model_handle.h"
#include "tools/python/bindings/sink_scores.h"

namespace sink::python {
namespace {

namespace nb = nanobind;

std::string text_of(const nb::bytes& utf8) { return {utf8.c_str(), utf8.size()}; }
nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

ModelHandle* load(const nb::bytes& path, const std::string& dtype, const std::string& device, bool gradients) {
  const std::string given = text_of(path);
  Computation computation;
  return new ModelHandle(ModelHandle::load(given, dtype, device, gradients));
}

std::vector<std::string> names_of(const ModelHandle& handle) {
  const std::string policies = " " + handle.ablation().policies + " ";
  const bool read_norms = policies.find(" placement=OutputNorm ") == std::string::npos &&
                          policies.find(" placement=PostNorm ") == std::string::npos;
  return activation_names(handle.model().sizes(), read_norms);
}

// A pass of `run`(hooks): the activations in its order, then their gradients.
template <class Run>
nb::dict run_with_hooks(const ModelHandle& handle, const std::set<std::string>& read,
                        const std::set<std::string>& replaced, const nb::object& function, Run&& run) {
  const std::vector<std::string> known = names_of(handle);
  for (const std::string& name : read) check_activation_name(name, known, false);
  for (const std::string& name : replaced) check_activation_name(name, known, true);
  std::map<std::string, Tensor> kept;
  {
    Computation computation;
    ActivationHooks hooks(handle.model(), read, replaced, function);
    run(hooks);
    kept = hooks.take();
  }
  nb::dict arrays;
  for (const char* suffix : {"", "_grad"})
    for (const std::string& name : known)
      if (const auto found = kept.find(name + suffix); found != kept.end())
        arrays[nb::str(found->first.c_str())] = array_of(found->second);
  return arrays;
}

nb::tuple forward(ModelHandle& handle, const Ids& ids_BT, const std::set<std::string>& read,
                  const std::set<std::string>& replaced, const nb::object& function) {
  const Tensor tokens_BT = tensor_of(ids_BT);
  Tensor logits_BTV;
  const nb::dict activations = run_with_hooks(handle, read, replaced, function, [&](ActivationHooks& hooks) {
    logits_BTV = handle.model().logits(tokens_BT, {.hooks = &hooks});
  });
  return nb::make_tuple(array_of(logits_BTV, true), activations);
}

std::vector<std::int32_t> stops_of(ModelHandle& handle) {
  return stop_tokens(handle.checkpoint(), handle.has_tokenizer() ? &handle.tokenizer() : nullptr);
}

std::vector<std::int32_t> generate(ModelHandle& handle, const std::vector<std::int32_t>& prompt, std::int64_t tokens,
                                   double temperature, double top_p, std::uint64_t seed, bool stop,
                                   const nb::object& step) {
  Computation computation;
  check_tokens(Tensor::from<std::int32_t>({1, static_cast<std::int64_t>(prompt.size())}, prompt),
               handle.model().sizes().vocabulary);
  TokenReader reader(handle.model());
  std::vector<std::int32_t> stops;
  if (stop) stops = stops_of(handle);
  std::span<const std::int32_t> unread(prompt);
  constexpr std::size_t part = TokenReader::kPart;
  while (unread.size() > part) {  // Ctrl-C ends a long prompt, too
    reader.read(unread.first(part));
    unread = unread.subspan(part);
    check_signals();
  }
  return continue_text(reader, unread, tokens, {.temperature = temperature, .top_p = top_p, .seed = seed}, stops,
                       [&](std::int32_t) {
                         check_signals();
                         nb::gil_scoped_acquire acquired;
                         if (!step.is_none()) step();
                       })
      .ids;
}

// What `compute` finds in a pass over token ids.
template <auto compute>
nb::dict tables_of(ModelHandle& handle, const Ids& ids_NT) {
  const Tensor tokens_NT = tensor_of(ids_NT);
  decltype(compute(handle.model(), tokens_NT)) tables;
  {
    Computation computation;
    tables = compute(handle.model(), tokens_NT);
  }
  return dict_of(tables);
}

ModelHandle* ablation(const std::string& name, const std::string& settings_toml, std::int64_t vocabulary) {
  Computation computation;
  return new ModelHandle(ModelHandle::make(name, settings_toml, vocabulary));
}

// (loss, gradient norm, learning rate)
std::tuple<double, double, double> train_step(ModelHandle& handle, const Ids& ids_BT, const Ids& targets_BT) {
  const Tensor tokens_BT = tensor_of(ids_BT), next_BT = tensor_of(targets_BT);
  Computation computation;
  const BatchTrainer::Step step = handle.trainer().step({tokens_BT, next_BT, handle.model().sizes().vocabulary});
  return {step.loss, step.gradient_norm, step.learning_rate};
}

// Runs the backward pass, and drops the gradients of parameters, which a step of training would add to its own.
void run_backward(ParameterArena& parameters, Tape& tape, const Var& loss) {
  struct Clear {
    ParameterArena& parameters;
    ~Clear() { parameters.clear_gradients(); }
  } clear{parameters};
  tape.backward(loss);
}

// The mean over the targets, or with `per_token` that of each target (B, T), and activations; with gradients where
// `read` or `replaced` has one.
nb::tuple loss(ModelHandle& handle, const Ids& ids_BT, const Ids& targets_BT, const std::set<std::string>& read,
               const std::set<std::string>& replaced, const nb::object& function, bool per_token) {
  const Batch batch{tensor_of(ids_BT), tensor_of(targets_BT), handle.model().sizes().vocabulary};
  Tensor losses_BT;
  double mean = 0;
  const nb::dict activations = run_with_hooks(handle, read, replaced, function, [&](ActivationHooks& hooks) {
    std::optional<Tape> tape;
    if (hooks.wants_gradients()) tape.emplace();
    ParameterArena& parameters = handle.model().parameters();
    if (tape && std::ranges::any_of(parameters, [](const auto& parameter) { return parameter->stored() != nullptr; }))
      throw Error("the weights stay in their file, and have no gradients there: load the model with gradients=True",
                  Exit::usage);
    const Var loss = handle.model().loss(batch, 1, {.hooks = &hooks}, per_token ? &losses_BT : nullptr);
    mean = loss.value().item();
    if (tape) run_backward(parameters, *tape, loss);
  });
  return nb::make_tuple(per_token ? array_of(losses_BT, true) : nb::cast(mean), activations);
}

// The n-th token after the prompt, as generate chooses it.
std::int32_t choose(const Values& logits_V, double temperature, double top_p, std::uint64_t seed, std::uint64_t n) {
  const auto V = static_cast<std::int64_t>(logits_V.size());
  const bool is_double = logits_V.dtype() == nb::dtype<double>();
  const Tensor logits = tensor_of(logits_V, Tensor::empty({V}, is_double ? DType::F64 : DType::F32));
  return Sampling{.temperature = temperature, .top_p = top_p, .seed = seed}.choose(logits, n);
}

bool is_mixture(const ModelHandle& handle) {
  const auto& parameters = handle.model().parameters();
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const auto& parameter) { return parameter->name().ends_with(".router.weight"); });
}

nb::dict sizes_dict(const ModelHandle& handle) {
  const Sizes& s = handle.model().sizes();
  nb::dict sizes;
  sizes["n_layers"] = s.layers;
  sizes["n_heads"] = s.heads;
  sizes["n_key_value_heads"] = s.key_heads();
  sizes["d_model"] = s.width;
  sizes["d_head"] = s.width_of_head();
  sizes["d_mlp"] = s.feed_forward;
  sizes["num_experts"] = is_mixture(handle) ? s.expert_count() : 0;
  sizes["d_vocab"] = s.vocabulary;
  sizes["n_ctx"] = s.context;
  sizes["window_size"] = s.window;
  sizes["prefix"] = s.prefix;
  sizes["extra_tokens"] = handle.model().extra_tokens();
  return sizes;
}

// Bytes of an element of an activation as an array.
int item_size(const ModelHandle& handle) {
  const auto& parameters = handle.model().parameters();
  return std::any_of(
             parameters.begin(), parameters.end(),
             [](const auto& parameter) { return !parameter->stored() && parameter->master().dtype() == DType::F64; })
             ? 8
             : 4;
}

const Parameter& parameter_named(const ModelHandle& handle, const std::string& name) {
  for (const auto& parameter : handle.model().parameters())
    if (parameter->name() == name) return *parameter;
  throw Error("the model has no parameter " + printable(name) + ": model.parameter_names() lists them", Exit::usage);
}

// A memory-mapped matrix is decoded row by row, so that is a copy.
Tensor decoded(const StoredMatrix& matrix, const Shape& shape) {
  Tensor values = Tensor::empty({matrix.rows, matrix.columns});
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const std::vector<double> row_C = row_of(matrix, row);
    values.rows(row, row + 1).copy_from(Tensor::from<double>({1, matrix.columns}, row_C));
  }
  return values.reshape(shape);
}

nb::object parameter(const ModelHandle& handle, const std::string& name) {
  const Parameter& found = parameter_named(handle, name);
  if (!found.stored()) return array_of(found.master());
  Tensor values;
  {
    Computation computation;
    values = decoded(*found.stored(), found.info().shape);
  }
  return array_of(values);
}

}  // namespace

void add_model(nb::module_& module) {
  nb::class_<ModelHandle>(module, "Model", "A language model; sinklab.Model wraps it.")
      .def_prop_ro("ablation", [](const ModelHandle& m) { return m.ablation().name; })
      .def_prop_ro("policies", [](const ModelHandle& m) { return m.ablation().policies; })
      .def_prop_ro("has_tokenizer", &ModelHandle::has_tokenizer)
      .def_prop_ro("begin_token", &ModelHandle::begin_token)
      .def_prop_ro("item_size", &item_size)
      .def("sizes", &sizes_dict)
      .def("activation_names", &names_of)
      .def(
          "encode",
          [](ModelHandle& m, const nb::bytes& utf8) {
            const std::string text = text_of(utf8);
            Computation computation;
            return m.encode(text);
          },
          nb::arg("utf8"))
      .def(
          "decode",
          [](ModelHandle& m, const std::vector<std::int32_t>& ids) {
            std::string text;
            {
              Computation computation;
              text = m.decode(ids);
            }
            return bytes_of(text);
          },
          nb::arg("ids"))
      .def(
          "token_texts",
          [](ModelHandle& m, const std::vector<std::int32_t>& ids) {
            Computation computation;
            std::vector<std::string> texts;
            for (const std::int32_t id : ids) texts.push_back(m.token_text(id));
            return texts;
          },
          nb::arg("ids"))
      .def("forward", &forward, nb::arg("ids"), nb::arg("read"), nb::arg("replaced"), nb::arg("function").none())
      .def("generate", &generate, nb::arg("prompt"), nb::arg("max_new_tokens"), nb::arg("temperature"),
           nb::arg("top_p"), nb::arg("seed"), nb::arg("stop"), nb::arg("step").none())
      .def("stop_tokens",
           [](ModelHandle& m) {
             Computation computation;
             return stops_of(m);
           })
      .def_static("choose", &choose, nb::arg("logits"), nb::arg("temperature"), nb::arg("top_p"), nb::arg("seed"),
                  nb::arg("n"))
      .def("sink_scores", &tables_of<&sink_tables>, nb::arg("ids"))
      .def("key_sums", &tables_of<&key_sum_tables>, nb::arg("ids"))
      .def("parameter_names",
           [](const ModelHandle& m) {
             std::vector<std::string> names;
             for (const auto& parameter : m.model().parameters()) names.push_back(parameter->name());
             return names;
           })
      .def("loss", &loss, nb::arg("ids"), nb::arg("targets"), nb::arg("read"), nb::arg("replaced"),
           nb::arg("function").none(), nb::arg("per_token"))
      .def("train_step", &train_step, nb::arg("ids"), nb::arg("targets"))
      .def(
          "save",
          [](const ModelHandle& m, const nb::bytes& path) {
            const std::string to = text_of(path);
            Computation computation;
            m.save(to);
          },
          nb::arg("path"))
      .def("parameter", &parameter, nb::arg("name"), nb::sig("def parameter(self, name: str) -> numpy.ndarray"));
  module.def("load", &load, nb::arg("path"), nb::arg("dtype"), nb::arg("device"), nb::arg("gradients"));
  module.def("ablation", &ablation, nb::arg("name"), nb::arg("settings_toml"), nb::arg("vocabulary"));
  module.def("ablation_names", [] {
    std::vector<std::string> names;
    for (const Ablation& ablation : all_ablations()) names.push_back(ablation.name);
    return names;
  });
  module.def(
      "set_thread_count",
      [](std::int64_t count) {
        Computation computation;
        set_thread_count(static_cast<int>(count));
        start_threads(count);
      },
      nb::arg("count"));
  module.def("thread_count", [] { return thread_count(); });
  module.def("release_cached_memory", [] {
    Computation computation;
    release_cached_memory();
  });
}

}  // namespace sink::python
