// eval_<ablation> chat: a conversation on a terminal.
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

#include "engine/data/chat/chat_template.h"
#include "engine/io/printable.h"
#include "engine/precision.h"
#include "eval/eval_command.h"
#include "eval/evaluated_model.h"
#include "eval/generate/continuation.h"
#include "eval/generate/generation_options.h"
#include "eval/generate/text_pieces.h"
#include "eval/given_text.h"
#include "eval/sink/trained_on.h"

namespace sink {
namespace {

struct ChatOptions : GenerationOptions {
  std::string system, form;
};

// What has been said, as tokens; those that the model has not read wait.
class Conversation {
 public:
  Conversation(const ChatOptions& options, const Checkpoint& checkpoint, LanguageModel& model,
               const Tokenizer& tokenizer)
      : options_(options),
        tokenizer_(tokenizer),
        encoder_(tokenizer, options.form.empty() ? chat_template_of(tokenizer) : chat_template_named(options.form)),
        reader_(model, options.eviction),
        stops_(stop_tokens(tokenizer)) {
    if (checkpoint.attributes.contains("begin_token"))
      waiting_.push_back(static_cast<std::int32_t>(checkpoint.integer("begin_token")));
    const std::vector<std::int32_t> end = encoder_.end(cache_);
    if (end.size() == 1) stops_.push_back(end[0]);
    if (!options.system.empty()) say(ChatRole::system, options.system);
  }

  // Prints the answer. False where the context has no room for one.
  bool answer(const std::string& line) {
    say(ChatRole::user, line);
    wait_for(encoder_.before(ChatRole::assistant, cache_));
    if (static_cast<std::int64_t>(waiting_.size()) >= reader_.room()) return false;
    TextPieces pieces(tokenizer_);
    const Continuation text = continue_text(
        reader_, waiting_, options_.most, options_.sampling, stops_,
        [&](std::int32_t id) {
          put_text(stdout, pieces.add(id));
          std::fflush(stdout);
        },
        drawn_);
    put_text(stdout, pieces.rest() + "\n");
    std::fflush(stdout);
    drawn_ += text.ids.size() + 1;
    waiting_.clear();
    // The last token is chosen, and read with what follows it; one that stopped the text was read never.
    if (text.end != ContinuationEnd::stop_token && !text.ids.empty()) waiting_.push_back(text.ids.back());
    wait_for(encoder_.end(cache_));
    wait_for(encoder_.between(cache_));
    return text.end != ContinuationEnd::context;
  }

 private:
  void say(ChatRole role, const std::string& text) {
    wait_for(encoder_.before(role, cache_));
    wait_for(encoder_.content(text, cache_));
    wait_for(encoder_.end(cache_));
    wait_for(encoder_.between(cache_));
  }
  void wait_for(const std::vector<std::int32_t>& ids) { waiting_.insert(waiting_.end(), ids.begin(), ids.end()); }

  const ChatOptions& options_;
  const Tokenizer& tokenizer_;
  ChatEncoder encoder_;
  EncodeCache cache_;
  TokenReader reader_;
  std::vector<std::int32_t> stops_, waiting_;
  std::uint64_t drawn_ = 0;
};

int run_chat(const ChatOptions& options, const Ablation& ablation) {
  options.compute.apply();
  auto [checkpoint, model] = load_evaluated(options.model, ablation, stored_type(options.compute.precision),
                                            device_named(options.compute.device));
  const Tokenizer tokenizer =
      tokenizer_of(checkpoint, options.data.empty() ? trained_on(checkpoint, model->sizes()).data : options.data);
  Conversation conversation(options, checkpoint, *model, tokenizer);
  const bool terminal = ::isatty(STDIN_FILENO);
  if (terminal) std::fputs("An empty line or Ctrl-D ends the conversation.\n", stderr);
  std::string line;
  while (true) {
    if (terminal) std::fputs("> ", stderr);
    if (!std::getline(std::cin, line) || line.empty()) return 0;
    if (conversation.answer(line)) continue;
    std::fprintf(stderr, "the context of %lld tokens is full; --window forgets older ones and goes on\n",
                 static_cast<long long>(model->sizes().context));
    return 0;
  }
}

}  // namespace

EvalCommand chat_command(CLI::App& app, const Ablation& ablation) {
  auto options = std::make_shared<ChatOptions>();
  CLI::App* chat = app.add_subcommand("chat", "A conversation: a line of yours, an answer of the model's.");
  add_generation_options(chat, *options, 512);
  chat->add_option("--system", options->system, "what the model is told before the conversation");
  chat->add_option("--template", options->form,
                   "what stands around a turn [the one whose marks are tokens of the model; else plain]")
      ->check(CLI::IsMember(chat_template_names()));
  chat->footer("Example:\n  eval_llama chat MODEL.gguf --temperature 0.7 --top-p 0.9 --window 1000 --keep-first 4");
  return {chat, [options, ablation] { return run_chat(*options, ablation); }};
}

}  // namespace sink
