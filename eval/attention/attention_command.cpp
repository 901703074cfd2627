// eval_<ablation> attention and view: where the attention of one text goes, as text and as a page.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "engine/io/file.h"
#include "engine/io/output_kind.h"
#include "engine/io/printable.h"
#include "engine/io/str_format.h"
#include "eval/attention/attention_output.h"
#include "eval/attention/long_view.h"
#include "eval/attention/view_page.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/input_options.h"
#include "eval/what_fits.h"

namespace sink {
namespace {

const OutputKind kAttentionFile =
    kind_by_text("a summary of eval_<ablation> attention", "{", {"\"schema\"", "\"secondary_sinks\""});

struct AttentionOptions {
  std::string model;
  InputOptions given;
  std::string out;
  ViewOptions view;
  bool lens_given = false;  // --lens-tokens
  std::vector<std::string> heads;
  bool json = false, force = false;
  ComputeOptions compute;
};

// How the text began, for a person. A run's --fixed-token counts before the begin token of a tokenizer.
std::string begin_of(const AttentionOptions& options, const Checkpoint& checkpoint, const TrainedOn& run,
                     const TextCut& cut, const std::function<std::string(std::int32_t)>& token_text) {
  if (options.given.tokens) return "as given";
  const std::optional<bool> bos = options.given.bos;
  const bool by_tokenizer = run.fixed_token < 0 && checkpoint.attributes.contains("begin_token");
  const std::string rule = bos                    ? (*bos ? "--bos" : "--no-bos")
                           : run.fixed_token >= 0 ? "the run's --fixed-token"
                                                  : attribute_or(checkpoint, "begin_rule",
                                                                 by_tokenizer ? "its tokenizer" : "no --fixed-token");
  if (cut.fixed_token >= 0 && cut.fixed_position == 1)
    return "the first is " + printable(token_text(static_cast<std::int32_t>(cut.fixed_token))) + ", added by " + rule;
  return "no begin token (" + rule + ")";
}

struct ReadText {
  Checkpoint checkpoint;
  std::unique_ptr<LanguageModel> model;
  Tensor tokens_1T;
  SummaryLabels labels;

  bool has_logits() const { return !checkpoint.attributes.contains("without_logits"); }
};

// The text that the user gives, of at most `longest` tokens and perhaps longer than the model's context, or else the
// first validation sequence of the run.
ReadText read_text(const AttentionOptions& options, const Ablation& ablation, std::int64_t longest) {
  auto [checkpoint, model] = load_evaluated(options.model, ablation, options.compute, {.needs_logits = false});
  TrainedOn run = trained_on(checkpoint, model->sizes());
  run.context = std::min(longest, model->sizes().context);
  SummaryLabels labels{.model = options.model,
                       .ablation = ablation.name,
                       .policies = ablation.policies,
                       .context = model->sizes().context};
  Tensor tokens_1T;
  if (options.given.any()) {
    const std::vector<std::int32_t> ids = options.given.one_sequence(checkpoint, model->sizes(), longest);
    const auto T = static_cast<std::int64_t>(ids.size());
    tokens_1T = Tensor::from<std::int32_t>({1, T}, ids);
    if (T > labels.context) {
      model.reset();
      model = load_evaluated(options.model, ablation, options.compute, {.context = T, .needs_logits = false}).model;
    }
    labels.token_text = token_labels(checkpoint, nullptr);
    const TextCut cut = options.given.cut(checkpoint, run, model->sizes());
    labels.text_begins = !options.given.tokens && cut.fixed_token >= 0 && cut.fixed_position == 1;
    labels.begin = begin_of(options, checkpoint, run, cut, labels.token_text);
  } else {
    const std::shared_ptr<DataSource> data = validation_text(checkpoint, run, options.given.data, model->sizes());
    const Batch first = data->validation_batch(0, 1);
    const std::int64_t end =
        first.documents().defined() ? first.documents().end(0, 0, first.context()) : first.context();
    tokens_1T = first.tokens_BT().slice(0, {1, end});
    labels.token_text = [data, of_id = token_labels(checkpoint, data.get())](std::int32_t id) { return of_id(id); };
    labels.text_begins = run.fixed_token >= 0 && run.fixed_position == 1 && run.fixed_to <= 1;
    labels.begin = end < first.context() ? "the first document of the first validation sequence of the run"
                                         : "the first validation sequence of the run";
  }
  print_header(*model, options.model, ablation, options.compute);
  return {std::move(checkpoint), std::move(model), tokens_1T, std::move(labels)};
}

// Shows on a terminal how far a long text has come.
std::function<void(std::int64_t)> layer_progress(std::int64_t layers, std::int64_t T) {
  if (T <= kLongestPatterns || !::isatty(STDERR_FILENO)) return nullptr;
  return [layers, began = std::chrono::steady_clock::now()](std::int64_t done) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    const double left = done > 1 ? seconds / static_cast<double>(done - 1) * static_cast<double>(layers - done) : -1;
    std::fprintf(stderr, "\r%lld of %lld layers%s\x1b[K%s", static_cast<long long>(done),
                 static_cast<long long>(layers), left > 0 ? str_format(", %.0f s left", left).c_str() : "",
                 done == layers ? "\n" : "");
  };
}

struct EnoughLayers {};

// read(tokens, after_layer). If that runs out of memory, throws Error (Exit::out_of_memory) that names a length that
// fits, to a sixteenth of the text. It is found by trial: two layers, next to the sums of all heads.
template <class F>
AttentionSummary in_memory(const ReadText& text, F&& read) {
  const std::int64_t T = text.tokens_1T.dim(1);
  const Sizes& sizes = text.model->sizes();
  try {
    return read(text.tokens_1T, layer_progress(sizes.layers, T));
  } catch (const OutOfMemory& error) {
    const std::int64_t sixteenths = largest_that_fits(16, [&](std::int64_t n) {
      const std::int64_t tokens = T * n / 16;
      return tokens > 0 && fits([&] {
               const Tensor sums = Tensor::empty({sizes.layers * sizes.heads, 2, tokens}, DType::F64);
               try {
                 read(text.tokens_1T.slice(0, {1, tokens}), [](std::int64_t done) {
                   if (done == 2) throw EnoughLayers();
                 });
               } catch (const EnoughLayers&) {}
             });
    });
    throw Error(error.what() + (sixteenths > 0 ? ". About " + std::to_string(T * sixteenths / 16) + " of the text's " +
                                                     std::to_string(T) + " tokens fit: shorten it"
                                               : std::string(". Not even a sixteenth of the text fits: shorten it")),
                error.code);
  }
}

int run_attention(const AttentionOptions& options, const Ablation& ablation) {
  if (!options.out.empty()) require_output(options.out, kAttentionFile, options.force);
  const ReadText text = read_text(options, ablation, kLongestSequence);
  const AttentionSummary summary = in_memory(text, [&](const Tensor& tokens_1T, const auto& after_layer) {
    FirstTokenByQuery by_query(text.model->sizes());
    AttentionSummary found = summarise_attention(*text.model, tokens_1T, &by_query, text.has_logits(), after_layer);
    by_query.add_to(found);
    return found;
  });
  put_text(options.json ? stderr : stdout, attention_table(summary, text.labels));
  if (options.json) put_text(stdout, attention_json(summary, text.labels));
  if (!options.out.empty()) write_file_atomically(options.out, attention_json(summary, text.labels));
  return 0;
}

// A run keeps its page, where `report` finds it.
std::string default_page(const std::string& model) {
  const std::filesystem::path run(model);
  return std::filesystem::exists(run / "checkpoint.h5") ? (run / kRunViewPage).string() : kRunViewPage;
}

bool view_is_long(const AttentionOptions& options, std::int64_t T) {
  const ViewPatterns patterns = options.view.patterns;
  return patterns == ViewPatterns::windows || !options.heads.empty() ||
         (patterns == ViewPatterns::automatic && options.given.any() && T > kLongestPatterns);
}

int run_long_view(const AttentionOptions& options, const ReadText& text, const std::string& out) {
  const Sizes& sizes = text.model->sizes();
  const ViewPatterns patterns = options.view.patterns;
  if (patterns == ViewPatterns::stored || patterns == ViewPatterns::computed)
    throw Error("--heads needs --patterns windows", Exit::usage);
  if (options.lens_given && options.view.lens_tokens > 0)
    throw Error("the page of a long text has no logit lens; leave out --lens-tokens, or see `lens`", Exit::usage);
  std::optional<LongView> view;
  const AttentionSummary summary = in_memory(text, [&](const Tensor& tokens_1T, const auto& after_layer) {
    view.emplace(*text.model, tokens_1T.dim(1), layer_heads(options.heads, sizes));
    return summarise_attention(*text.model, tokens_1T, &*view, text.has_logits(), after_layer);
  });
  const std::string page = view->page(summary, text.labels);
  write_file_atomically(out, page);
  std::printf("%s, %.2f MB\n", printable(out).c_str(), static_cast<double>(page.size()) / 1e6);
  put_text(stdout, view->note());
  return 0;
}

int run_view(const AttentionOptions& options, const Ablation& ablation) {
  const std::string out = options.out.empty() ? default_page(options.model) : options.out;
  require_output(out, view_page_kind(), options.force);
  const bool may_be_long = view_is_long(options, kLongestSequence);
  const ReadText text = read_text(options, ablation, may_be_long ? kLongestSequence : kLongestPatterns);
  if (view_is_long(options, text.tokens_1T.dim(1))) return run_long_view(options, text, out);
  ViewOptions view = options.view;
  if (!text.has_logits()) view.lens_tokens = 0;
  ViewContent content(*text.model, text.tokens_1T.dim(1), view);
  const AttentionSummary summary = summarise_attention(*text.model, text.tokens_1T, &content, text.has_logits());
  const std::string page = view_page(summary, text.labels, content);
  write_file_atomically(out, page);
  std::printf("%s, %.2f MB\n", printable(out).c_str(), static_cast<double>(page.size()) / 1e6);
  if (const ViewQueriesKeys* computed = content.queries_keys())
    std::printf("The page computes the patterns; weights are within %.3f, on average %.1e.\n",
                std::ceil(1000 * computed->largest_error()) / 1000, computed->mean_error());
  return 0;
}

// What both commands read.
void add_text_and_machine(CLI::App* command, AttentionOptions& options) {
  command->add_option("checkpoint,--model", options.model, kWhatIsEvaluated)->required();
  add_tokens_option(command, options.given, add_text_options(command, options.given));
  command->add_option("--data", options.given.data, "data folder of the tokenizer; for checkpoints without one");
  add_machine_options(command, options.compute);
}

}  // namespace

EvalCommand attention_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<AttentionOptions>();
  CLI::App* attention = app.add_subcommand(
      "attention",
      "Shows where the attention of a text goes. Prints the tokens, alpha_1 and Sink_1 with how the text began, other "
      "tokens that are sinks, alpha_1 by layer, of 64 tokens and more also by query, and attention by distance, the "
      "heads with the strongest sink and those that look elsewhere. "
      "Weights are proxy weights. A text may be longer than the model's context, unless the model learns positions. Of "
      "a run without a text: its first "
      "validation sequence. "
      "eval/attention/attention_output.h describes the JSON.");
  add_text_and_machine(attention, *options);
  attention->add_flag("--json", options->json, "print JSON on stdout, the table on stderr");
  attention->add_option("--out", options->out, "also write the JSON to this file");
  attention->add_flag("--force", options->force, "let --out replace a file that is no such JSON");
  attention->footer("Example:\n  sinklab SmolLM2-135M.gguf --text \"The sink is the first token.\"");
  return {attention, [options, ablation] { return run_attention(*options, ablation); }};
}

EvalCommand view_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<AttentionOptions>();
  CLI::App* command = app.add_subcommand(
      "view",
      "Draws the attention patterns of a text. Writes one page that needs no network: all heads are small maps, "
      "sorted by layer or by sink; a click opens one with its tokens, lines from token to token, the prediction after "
      "each layer (logit lens), and the lengths of values and of the residual stream. Patterns of long texts "
      "are computed in the page, or pooled. Above 1024 tokens the page shows what every token receives in each layer, "
      "all heads pooled, and a few in full: a window that it computes from queries and keys as one scrolls. Of a run "
      "without a text: its first validation sequence; `report` shows the page, too.");
  add_text_and_machine(command, *options);
  command->add_option("--out", options->out, "the page to write [view.html, of a run in its folder]");
  const std::map<std::string, ViewPatterns> patterns{{"auto", ViewPatterns::automatic},
                                                     {"stored", ViewPatterns::stored},
                                                     {"computed", ViewPatterns::computed},
                                                     {"windows", ViewPatterns::windows}};
  command
      ->add_option_function<std::string>(
          "--patterns", [options, patterns](const std::string& name) { options->view.patterns = patterns.at(name); },
          "how the page has them; auto: it computes those that are too large to store, from queries and keys")
      ->check(CLI::IsMember({"auto", "stored", "computed", "windows"}))
      ->option_text("auto|stored|computed|windows [auto]");
  command->add_option("--heads", options->heads, "heads that the page of a long text shows in full [10 by rules]")
      ->option_text("LAYER.HEAD ...");
  command->add_option("--lens-tokens", options->view.lens_tokens, "logit lens of the last tokens; 0: none")
      ->check(CLI::Range(std::int64_t{0}, kLongestPatterns))
      ->each([options](const std::string&) { options->lens_given = true; })
      ->option_text("INT [32]");
  command->add_flag("--force", options->force, "let --out replace a file that is no such page");
  command->footer("Example:\n  sinklab view SmolLM2-135M.gguf --text-file speech.txt --out speech.html");
  return {command, [options, ablation] { return run_view(*options, ablation); }};
}

}  // namespace sink
