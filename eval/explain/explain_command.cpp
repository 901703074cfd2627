// eval_<ablation> explain: one query's whole computation in scalars, forward and backward.
#include <cstdio>
#include <memory>
#include <optional>

#include "engine/io/file.h"
#include "engine/io/printable.h"
#include "engine/io/setting.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/explain/explained_model.h"
#include "eval/explain/explanation_output.h"
#include "model/size_settings.h"

namespace sink {
namespace {

struct ExplainRequest {
  std::string checkpoint;
  InputOptions given;
  GivenSizes sizes;
  std::optional<std::uint64_t> seed;
  ExplainOptions what;
  std::string html;
  bool all_numbers = false, json = false, force = false;
};

void write_page(const ExplainRequest& request, const Explanation& explanation, const ExplanationStyle& style,
                const std::string& command) {
  std::string page = explanation_page(explanation, style, command);
  write_file_atomically(request.html, page);
  std::fprintf(stderr, "%s, %.2f MB\n", printable(request.html).c_str(), static_cast<double>(page.size()) / 1e6);
}

int run_explain(const ExplainRequest& request, const Ablation& ablation) {
  if (!request.given.any()) throw Error("explain needs --text, --text-file or --tokens; see --help", Exit::usage);
  if (!request.checkpoint.empty() && (request.seed || !request.sizes.empty()))
    throw Error(
        "--seed and sizes are of the initial model that is explained without a checkpoint; leave them or it out",
        Exit::usage);
  ExplainedModel explained = request.checkpoint.empty()
                                 ? initial_model(request.given, request.sizes, request.seed.value_or(0), ablation)
                                 : model_of_checkpoint(request.checkpoint, request.given, ablation);
  if (!request.html.empty()) require_output(request.html, explanation_page_kind(), request.force);
  ExplainOptions what = request.what;
  what.all_queries = !request.html.empty();
  Explanation explanation = explain(*explained.model, explained.tokens_1T, what);
  ExplanationStyle style{explained.what, explained.token_text, request.all_numbers};
  put_text(request.json ? stderr : stdout, explanation_table(explanation, style));
  if (request.json)
    put_text(stdout, explanation_json(explanation, style, ablation.name, ablation.policies, explained.trained));
  if (!request.html.empty()) write_page(request, explanation, style, "eval_" + ablation.name + " explain");
  return 0;
}

// What belongs to the initial model alone.
void add_initial_options(CLI::App* explain, ExplainRequest& request) {
  const char* group = "The initial model that eval_<ablation> explains without a checkpoint";
  const SettingRule seed{.flag = "seed", .group = group, .help = "of its initial values", .of_kind = std::uint64_t{0}};
  auto keep_seed = [&request, seed](const std::string& text) {
    request.seed = std::get<std::uint64_t>(seed.read(text, "--seed"));
  };
  explain->add_option_function<std::string>("--seed", keep_seed, seed.help)->option_text("INT [0]")->group(group);
  const Sizes usual = tiny_sizes({}, 0, 0);
  for (const Setting<Sizes>& size : size_settings()) {
    if (size.flag == "context" || size.flag == "vocabulary") continue;  // from the text; 256 bytes
    auto keep = [&request, flag = size.flag](const std::string& text) { request.sizes[flag] = text; };
    explain->add_option_function<std::string>(size.options(), keep, size.help)
        ->option_text(size.kind() + " [" + plain_text(size.value(usual)) + "]")
        ->group(group);
  }
}

}  // namespace

EvalCommand explain_command(CLI::App& app, const Ablation& ablation) {
  auto request = std::make_shared<ExplainRequest>();
  CLI::App* explain =
      app.add_subcommand("explain",
                         "Shows how one row of attention is computed. All values are in double, named as in "
                         "engine/ops/attention/attention.h: the scores, split into norms, cosine and bias, m, S, the "
                         "weights, and what each value adds to the output; with --backward also the gradients. The "
                         "default is the last token as the query, in the first head of the first layer. Without a "
                         "checkpoint, eval_<ablation> explains a small untrained model; there, `--text ...` alone "
                         "does the same.");
  explain->add_option("--checkpoint,--model,model", request->checkpoint, kWhatIsEvaluated);
  add_tokens_option(explain, request->given, add_text_options(explain, request->given));
  explain->add_option("--data", request->given.data, "data folder of the tokenizer; for checkpoints without one");
  explain->add_option("--layer", request->what.place.layer, "layer, from 0")
      ->check(whole_number(0))
      ->capture_default_str();
  explain->add_option("--head", request->what.place.head, "head, from 0")
      ->check(whole_number(0))
      ->capture_default_str();
  explain
      ->add_option("--query", request->what.place.query,
                   "position of the query, from 0; a sink token, where there is one, is 0 [the last; with "
                   "--backward the one before, since the last predicts nothing]")
      ->check(whole_number(0));
  explain->add_flag("--backward", request->what.backward,
                    "also gradients; of the mean cross-entropy of the next tokens");
  explain->add_flag("--full", request->all_numbers,
                    "whole vectors and all keys; without it, the first four elements and keys of a short row");
  explain->add_flag("--json", request->json,
                    "print JSON on stdout, the table on stderr; eval/explain/explanation_output.h describes the JSON");
  explain->add_option("--html", request->html,
                      "write a page that steps through the row; for any browser, without network");
  explain->add_flag("--force", request->force, "let --html replace a file that is no such page");
  add_initial_options(explain, *request);
  explain->footer(
      "Examples:\n  eval_baseline --text \"hello\"\n"
      "  eval_baseline explain runs/sink/checkpoint.h5 --tokens ids.txt \\\n"
      "    --layer 1 --head 3 --backward\n"
      "  gdb -ix tools/gdb/sinklab.py -ex 'break attention_row' --args \\\n"
      "    build/debug/eval_baseline --text \"hello\"");
  return {explain, [request, ablation] {
            request->given.min_tokens = request->what.backward ? 2 : 1;
            return run_explain(*request, ablation);
          }};
}

}  // namespace sink
