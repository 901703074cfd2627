// eval_<ablation> chat: a conversation on a terminal.
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "engine/data/chat/chat_template.h"
#include "engine/io/printable.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/generate/continuation.h"
#include "eval/generate/generation_options.h"
#include "eval/input_options.h"
#include "eval/sink/trained_on.h"
#include "eval/text_sequences.h"

namespace sink {
namespace {

struct ChatOptions : GenerationOptions {
  std::string system, form;
  std::optional<bool> bos;
};

const ChatTemplate& template_of(const ChatOptions& options, const Tokenizer& tokenizer) {
  if (!options.form.empty()) return chat_template_named(options.form);
  if (const ChatTemplate* found = chat_template_of(tokenizer)) return *found;
  std::fputs(
      "chat: the marks of no known template are tokens of this model, so <|user|> and <|assistant|> around turns are "
      "plain text; --template names another format\n",
      stderr);
  return chat_template_named("plain");
}

// The conversation as tokens. Tokens that the model has not read yet are pending.
class Conversation {
 public:
  Conversation(const ChatOptions& options, const Checkpoint& checkpoint, LanguageModel& model, const TrainedOn& run,
               const Tokenizer& tokenizer)
      : options_(options),
        tokenizer_(tokenizer),
        encoder_(tokenizer, template_of(options, tokenizer)),
        reader_(model, options.eviction, options.cache_rounding()),
        stops_(stop_tokens(checkpoint, &tokenizer)) {
    const std::int64_t begin = first_token(checkpoint, run, "chat", options.bos);
    if (begin >= 0) pending_.push_back(static_cast<std::int32_t>(begin));
    TextPlace anywhere = TextPlace::inside;
    const std::vector<std::int32_t> end = encoder_.end(anywhere, cache_);
    if (end.size() == 1) stops_.push_back(end[0]);
    if (!options.system.empty()) add_turn(ChatRole::system, options.system);
  }

  // Prints the answer. False if the context is full.
  bool answer(const std::string& line) {
    add_turn(ChatRole::user, line);
    append(encoder_.before(ChatRole::assistant, place_, cache_));
    if (static_cast<std::int64_t>(pending_.size()) >= reader_.room()) return false;
    TextPieces pieces(tokenizer_);
    const Continuation text = continue_text(
        reader_, pending_, options_.most, options_.sampling, stops_,
        [&](std::int32_t id) {
          put_text(stdout, pieces.add(id));
          std::fflush(stdout);
        },
        drawn_);
    put_text(stdout, pieces.rest() + "\n");
    std::fflush(stdout);
    drawn_ += text.ids.size() + 1;
    pending_.clear();
    // The last token is chosen but not read yet. A stop token is not part of the text.
    if (text.end != ContinuationEnd::stop_token && !text.ids.empty()) pending_.push_back(text.ids.back());
    if (!text.ids.empty()) place_ = TextPlace::inside;
    append(encoder_.end(place_, cache_));
    append(encoder_.between(place_, cache_));
    return text.end != ContinuationEnd::context;
  }

 private:
  void add_turn(ChatRole role, const std::string& text) {
    append(encoder_.before(role, place_, cache_));
    append(encoder_.content(text, place_, cache_));
    append(encoder_.end(place_, cache_));
    append(encoder_.between(place_, cache_));
  }
  void append(const std::vector<std::int32_t>& ids) { pending_.insert(pending_.end(), ids.begin(), ids.end()); }

  const ChatOptions& options_;
  const Tokenizer& tokenizer_;
  ChatEncoder encoder_;
  EncodeCache cache_;
  TextPlace place_ = TextPlace::at_begin;  // of what is encoded next
  TokenReader reader_;
  std::vector<std::int32_t> stops_, pending_;
  std::uint64_t drawn_ = 0;
};

int run_chat(const ChatOptions& options, const Ablation& ablation) {
  auto [checkpoint, model] = load_evaluated(options.model, ablation, options.compute);
  const TrainedOn run = trained_on(checkpoint, model->sizes());
  const Tokenizer tokenizer = tokenizer_of(checkpoint, options.data.empty() ? run.data : options.data);
  Conversation conversation(options, checkpoint, *model, run, tokenizer);
  print_header(*model, options.model, ablation, options.compute);
  const bool terminal = ::isatty(STDIN_FILENO);
  if (terminal) std::fputs("An empty line or Ctrl-D ends the conversation.\n", stderr);
  std::string line;
  while (true) {
    if (terminal) std::fputs("> ", stderr);
    if (!std::getline(std::cin, line) || line.empty()) return 0;
    if (conversation.answer(line)) continue;
    std::fprintf(stderr, "the context of %lld tokens is full; --window evicts older tokens and continues\n",
                 static_cast<long long>(model->sizes().context));
    return 0;
  }
}

}  // namespace

EvalCommand chat_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<ChatOptions>();
  CLI::App* chat = app.add_subcommand("chat", "Chats with a model. It reads a line and prints the answer.");
  add_generation_options(chat, *options, 512);
  add_bos_option(chat, options->bos);
  chat->add_option("--system", options->system, "system prompt");
  chat->add_option("--template", options->form,
                   "format of the turns [the one whose marks are tokens of the model, else plain]")
      ->check(CLI::IsMember(chat_template_names()));
  chat->footer(
      "Example:\n  eval_llama chat MODEL.gguf --temperature 0.7 --top-p 0.9 \\\n    --window 1000 --keep-first 4");
  return {chat, [options, ablation] { return run_chat(*options, ablation); }};
}

}  // namespace sink
