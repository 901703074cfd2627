// Fuzzes what `prepare --chat` does with conversations: reading the turns of each line of JSONL, and their tokens by
// each template (the first byte says which).
#include <algorithm>

#include "tests/fuzz/fuzz_support.h"
#include "engine/data/chat/chat_template.h"
#include "tools/prepare/documents.h"

using namespace sink;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const Tokenizer tokenizer = Tokenizer::train({"<|user|>\n<|assistant|>\n<|end|>\n"}, 270);
  const std::vector<std::string> names = chat_template_names();
  const ChatEncoder encoder(tokenizer, chat_template_named(names[data[0] % names.size()]));
  FuzzFile on_disk(view_of(data + 1, size - 1));
  may_refuse({Exit::bad_input}, [&] {
    DocumentReader reader(on_disk.path(), /*jsonl=*/true, {.max_bytes = 100000});
    std::string text;
    std::size_t all = 0;
    EncodeCache cache;
    for (std::vector<ChatTurn> turns; reader.next(text, turns);) {
      std::size_t bytes = 0, answers = 0, of_answers = 0;
      for (const ChatTurn& turn : turns) {
        bytes += turn.bytes;
        if (turn.role != ChatRole::assistant) continue;
        ++answers;
        of_answers += turn.bytes;
      }
      must(bytes == text.size(), "the turns are the text");
      must(!has_answer(text, turns) || of_answers > 0, "an answer says something");
      all += bytes;
      const ChatTokens tokens = encoder.encode(text, turns, cache);
      must(tokens.ids.size() == tokens.predicted.size(), "every token is predicted or not");
      std::vector<std::int32_t> predicted;
      for (std::size_t i = 0; i < tokens.ids.size(); ++i)
        if (tokens.predicted[i] == 1) predicted.push_back(tokens.ids[i]);
      const std::size_t end = tokenizer.decode(predicted).size() - of_answers;
      must(answers == 0 ? end == 0 : end % answers == 0, "what is predicted are the answers and their ends");
    }
    must(all <= size, "no text comes from nowhere");
  });
  return 0;
}
