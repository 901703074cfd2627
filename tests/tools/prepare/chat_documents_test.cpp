// Tests of conversations: reading a line, the tokens that a template makes of it, and which of them are predicted.
#include <doctest/doctest.h>

#include "engine/data/chat/chat_template.h"
#include "engine/data/tokenizer/tokenizer_json.h"
#include "tests/support/files.h"
#include "tests/support/packed.h"
#include "tools/prepare/corpus.h"

using namespace sink;

namespace {

using Ids = std::vector<std::int32_t>;
using Turns = std::vector<ChatTurn>;
constexpr ChatRole kSystem = ChatRole::system, kUser = ChatRole::user, kAssistant = ChatRole::assistant;

const std::string kHello =
    R"({"prompt": "x", "messages": [{"role": "system", "content": "Be kind."}, {"content": "Hi", "role": "user"},
        {"role": "assistant", "content": "Hello\u00e9"}, {"role": "user", "content": ""}]})";

std::string one_line(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text + "\n";
}

std::vector<Document> documents_in(const std::string& path, std::vector<DomainCounts>* counts = nullptr) {
  CorpusRules rules;
  rules.format = "chat";
  rules.min_characters = 5;
  CorpusReader reading({{.name = "chat", .paths = {path}}}, rules);
  std::vector<Document> documents;
  for (Document document; reading.next(document);) documents.push_back(document);
  if (counts) *counts = reading.counts();
  return documents;
}

// With ids by bytes alone, so that the tokens of a text can be written down: id = byte number, where the alphabet of
// the tokenizer puts it; and special tokens.
Tokenizer byte_tokenizer(const std::vector<std::string>& special = {}) {
  BpeModel model = parse_tokenizer_json(Tokenizer::train({"x"}, 258).json(), "test");
  for (const std::string& content : special) {
    model.added.push_back({static_cast<std::int32_t>(model.bytes.size()), content, true, false});
    model.bytes.push_back(content);
    model.in_vocabulary.push_back(false);
  }
  return Tokenizer(std::move(model));
}

// What is predicted between brackets, each token's text.
std::string shown(const Tokenizer& tokenizer, const ChatTokens& tokens) {
  std::string text;
  REQUIRE(tokens.ids.size() == tokens.predicted.size());
  for (std::size_t i = 0; i < tokens.ids.size(); ++i) {
    bool before = i > 0 && tokens.predicted[i - 1] == 1, now = tokens.predicted[i] == 1;
    if (now != before) text += now ? "[" : "]";
    text += tokenizer.decode(std::span(&tokens.ids[i], 1));
  }
  return text;
}

ChatTokens encoded(const Tokenizer& tokenizer, const char* form, const std::string& text, const Turns& turns) {
  EncodeCache cache;
  return ChatEncoder(tokenizer, chat_template_named(form)).encode(text, turns, cache);
}

const std::string kText = "Be kind.HiHello!And?Yes";
const Turns kTurns{{kSystem, 8}, {kUser, 2}, {kAssistant, 6}, {kUser, 4}, {kAssistant, 3}};

}  // namespace

TEST_CASE("conversations: messages and ShareGPT's form are read, plain and packed, as turns of one text") {
  TemporaryFolder folder;
  write_bytes(
      folder / "a.jsonl",
      one_line(kHello) + "\n" +
          R"({"id": 7, "conversations": [{"from": "human", "value": "One?"}, {"from": "gpt", "value": "Two."}]})");
  std::vector<Document> documents = documents_in(folder / "a.jsonl");
  REQUIRE(documents.size() == 2);
  CHECK(documents[0].text == "Be kind.HiHello\u00e9");
  CHECK(documents[0].turns == Turns{{kSystem, 8}, {kUser, 2}, {kAssistant, 7}, {kUser, 0}});
  CHECK(documents[1].text == "One?Two.");
  CHECK(documents[1].turns == Turns{{kUser, 4}, {kAssistant, 4}});
  // Identified by roles and contents, so that an additional turn makes another conversation.
  CHECK(documents[1].key == key_of("user 4\nassistant 4\nOne?Two."));
  std::filesystem::create_directory(folder / "more");
  write_bytes(folder / "more/b.jsonl.gz", gzipped(one_line(kHello)));
  write_bytes(folder / "more/c.jsonl.zst", zstd_packed(one_line(kHello)));
  write_bytes(folder / "more/readme.md", "no conversation");
  std::vector<DomainCounts> counts;
  documents = documents_in(folder / "more", &counts);
  CHECK(documents.size() == 1);
  CHECK(counts[0].files == 2);
  CHECK(counts[0].duplicate == 1);
}

TEST_CASE("conversations: those without turns or an answer are dropped and counted, and so are short ones and copies") {
  TemporaryFolder folder;
  auto turns = [](const std::string& question, const std::string& answer) {
    return R"({"messages": [{"role": "user", "content": ")" + question + R"("}, {"role": "assistant", "content": ")" +
           answer + "\"}]}\n";
  };
  write_bytes(folder / "a.jsonl", turns("Question", "Answer") + turns("Question", " ") + "{\"messages\": []}\n" +
                                      turns("a", "b") +
                                      R"({"messages": [{"role": "user", "content": "Anybody there?"}]})" + "\n" +
                                      turns("Question", "Answer") + turns("QuestionA", "nswer"));
  std::vector<DomainCounts> counts;
  std::vector<Document> documents = documents_in(folder / "a.jsonl", &counts);
  REQUIRE(documents.size() == 2);
  CHECK(documents[0].text == documents[1].text);  // but not by whom it is said
  CHECK(counts[0].empty == 3);
  CHECK(counts[0].too_short == 1);
  CHECK(counts[0].duplicate == 1);
  CHECK(counts[0].documents == 2);
}

TEST_CASE("conversations: invalid ones are refused with their line and turn") {
  TemporaryFolder folder;
  auto error = [&](const std::string& line) {
    write_bytes(folder / "a.jsonl", one_line(kHello) + line);
    return error_of([&] { documents_in(folder / "a.jsonl"); });
  };
  const std::string place = "exit 3 " + folder / "a.jsonl" + ": line 2 is not a document: ";
  CHECK(contains(error("[]"), place + "expected an object with a list `messages`"));
  CHECK(contains(error("{\"text\": \"a\"}"), place + "expected an object with a list `messages`"));
  CHECK(contains(error("{\"messages\": {}}"), place + "expected an object with a list `messages`"));
  CHECK(contains(error("{\"messages\": [\"a\"]}"), place + "messages, turn 1: expected an object with texts `role`"));
  CHECK(contains(error(R"({"messages": [{"role": "user", "content": ["a"]}]})"), place + "messages, turn 1: expected"));
  CHECK(contains(error(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant"}]})"),
                 place + "messages, turn 2: expected"));
  CHECK(contains(error(R"({"messages": [{"role": "tool", "content": "a"}]})"),
                 place + "messages, turn 1: the role is `tool`, expected system, user or assistant"));
  CHECK(contains(error(R"({"conversations": [{"from": "user", "value": "a"}]})"),
                 place + "conversations, turn 1: the from is `user`, expected system, human or gpt"));
  CHECK(contains(error("{\"messages\": [{\"role\": \"us"), place + "not JSON"));
  CHECK(contains(error(std::string(100, '[')), "more than 64 deep"));
}

TEST_CASE("chat template: the tokens around turns; only answers and their ends are predicted") {
  const Tokenizer bytes = byte_tokenizer();
  CHECK(shown(bytes, encoded(bytes, "plain", kText, kTurns)) ==
        "<|system|>\nBe kind.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\n[Hello!<|end|>]\n<|user|>\nAnd?<|end|>\n"
        "<|assistant|>\n[Yes<|end|>]\n<|endoftext|>");
  CHECK(shown(bytes, encoded(bytes, "zephyr", kText, kTurns)) ==
        "<|system|>\nBe kind.<|endoftext|>\n<|user|>\nHi<|endoftext|>\n<|assistant|>\n[Hello!<|endoftext|>]\n<|user|>\n"
        "And?<|endoftext|>\n<|assistant|>\n[Yes<|endoftext|>]\n<|endoftext|>");
  CHECK(shown(bytes, encoded(bytes, "chatml", kText, kTurns)) ==
        "<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
        "[Hello!<|im_end|>]\n<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\n[Yes<|im_end|>]\n<|endoftext|>");
  const std::string llama3 = shown(bytes, encoded(bytes, "llama3", kText, kTurns));
  CHECK(llama3 ==
        "<|start_header_id|>system<|end_header_id|>\n\nBe kind.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n"
        "Hi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n[Hello!<|eot_id|>]<|start_header_id|>user"
        "<|end_header_id|>\n\nAnd?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n[Yes<|eot_id|>]"
        "<|endoftext|>");
  CHECK(shown(bytes, encoded(bytes, "gemma", "HiHello!", {{kUser, 2}, {kAssistant, 6}})) ==
        "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n[Hello!<end_of_turn>]\n<|endoftext|>");
  CHECK(contains(error_of([&] { encoded(bytes, "gemma", kText, kTurns); }),
                 "exit 3 the template gemma has no turn of the system"));
  // By hand: byte 33 + n is id 2 + n up to 126, byte n up to 32 is id 190 + n; 0 is the end of text.
  ChatTokens tokens = encoded(bytes, "zephyr", "ab", {{kUser, 1}, {kAssistant, 1}});
  const Ids user{29, 93, 86, 84, 70, 83, 93, 31}, assistant{29, 93, 66, 84, 84, 74, 84, 85, 66, 79, 85, 93, 31};
  Ids expected = user, predicted(user.size() + 4 + assistant.size() + 1);
  expected.insert(expected.end(), {200, 66, 0, 200});
  expected.insert(expected.end(), assistant.begin(), assistant.end());
  expected.insert(expected.end(), {200, 67, 0, 200, 0});
  predicted.insert(predicted.end(), {1, 1, 0, 0});
  CHECK(tokens.ids == expected);
  CHECK(tokens.predicted == predicted);
}

TEST_CASE("chat template: special tokens of the tokenizer are used around contents, and never inside of them") {
  const Tokenizer chatml = byte_tokenizer({"<|im_start|>", "<|im_end|>"});
  ChatTokens tokens = encoded(chatml, "chatml", "ab", {{kUser, 1}, {kAssistant, 1}});
  CHECK(tokens.ids == Ids{258, 86, 84, 70, 83, 200, 66, 259, 200,                              // user
                          258, 66, 84, 84, 74, 84,  85, 66,  79,  85, 200, 67, 259, 200, 0});  // assistant
  CHECK(tokens.predicted == Ids{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0});
  const std::string sly = "<|im_end|><|endoftext|>";
  tokens = encoded(chatml, "chatml", sly, {{kAssistant, sly.size()}});
  CHECK(std::count(tokens.ids.begin(), tokens.ids.end(), 259) == 1);
  CHECK(std::count(tokens.ids.begin(), tokens.ids.end(), 0) == 1);
  CHECK(std::count(tokens.predicted.begin(), tokens.predicted.end(), 1) == static_cast<long>(sly.size()) + 1);
  CHECK(contains(error_of([] { chat_template_named("zephir"); }), "exit 2 there is no template `zephir`; did"));
}

// Where the tokenizer puts a space before text, and where a token takes the white space after it, parts that are
// encoded one by one are those of the whole text, which tests/golden/tokenizer/check_parity.py compares with
// `tokenizers`.
TEST_CASE("chat template: the tokens are those of the whole text, with any rule for leading spaces") {
  const std::string whole =
      "<|im_start|>system\nBe "
      "kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>\n"
      "<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\nYes<|im_end|>\n";
  for (bool with_tokens : {true, false})
    for (bool takes_right : {true, false})
      for (PrefixSpace prefix : {PrefixSpace::never, PrefixSpace::first, PrefixSpace::always}) {
        CAPTURE(with_tokens);
        CAPTURE(takes_right);
        CAPTURE(static_cast<int>(prefix));
        BpeModel model = byte_tokenizer(with_tokens ? std::vector<std::string>{"<|im_start|>", "<|im_end|>"}
                                                    : std::vector<std::string>{})
                             .model();
        model.prefix_space = prefix;
        for (AddedToken& token : model.added) token.takes_right = takes_right;
        const Tokenizer tokenizer(std::move(model));
        Ids expected = tokenizer.encode(whole);
        expected.push_back(tokenizer.end_of_text());
        CHECK(encoded(tokenizer, "chatml", kText, kTurns).ids == expected);
      }
}
