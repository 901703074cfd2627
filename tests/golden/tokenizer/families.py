"""Builds tokenizers in the form of each family with the `tokenizers` package: family(name, texts, vocabulary), and those
of given files: from_folder(path). Written from the tokenizer.json files that the models come with; LLaMA 3's has 256
special tokens and 128,000 others, which the form does not depend on."""
import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
FAMILIES = ["gpt2", "gptneox", "opt", "llama3", "smollm"]


def byte_level(use_regex=True, prefix=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex)


def special(*names):
    return [AddedToken(name, special=True, normalized=False) for name in names]


def finish(name, tokenizer):
    """What the family has beside vocabulary and merges."""
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    if name == "gptneox":
        tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    if name == "opt":
        tokenizer.post_processor = processors.TemplateProcessing(
            single="</s> $A", pair="</s> $A </s> $B", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))])
    if name == "llama3":
        tokenizer.add_special_tokens(special("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|eot_id|>",
                                             *(f"<|reserved_special_token_{i}|>" for i in range(40))))
        begin = ("<|begin_of_text|>", tokenizer.token_to_id("<|begin_of_text|>"))
        tokenizer.post_processor = processors.Sequence(
            [processors.ByteLevel(trim_offsets=False),
             processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A $B",
                                           special_tokens=[begin])])
    return tokenizer


def steps(name, tokenizer):
    """What happens before the merges, which training needs too."""
    tokenizer.pre_tokenizer = byte_level()
    if name == "gptneox":
        tokenizer.normalizer = normalizers.NFC()
    if name == "llama3":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), byte_level(use_regex=False)])
    if name == "smollm":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), byte_level()])
    return tokenizer


SPECIAL_FIRST = {"gpt2": ["<|endoftext|>"], "gptneox": ["<|endoftext|>", "<|padding|>"], "opt": ["<pad>", "</s>"],
                 "llama3": [], "smollm": ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<file_sep>"]}


def family(name, texts, vocabulary):
    tokenizer = steps(name, Tokenizer(models.BPE(ignore_merges=name == "llama3")))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    if name == "smollm":  # which has no tokens for some of the bytes
        alphabet = [c for c in alphabet if c not in "\u0104\u0114\u00f1\u00f2\u0106"]
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, show_progress=False, initial_alphabet=alphabet,
                                  special_tokens=special(*SPECIAL_FIRST[name]), max_token_length=32)
    if name == "smollm":
        texts = [t for t in texts if t.isascii() and "\x04" not in t and "\x06" not in t and "\x14" not in t]
    tokenizer.train_from_iterator(texts, trainer)
    return finish(name, tokenizer)


def from_folder(folder):
    """The tokenizer of a folder and the file that our program reads, or None: a tokenizer.json, or GPT-2's or OPT's."""
    folder = pathlib.Path(folder)
    if (folder / "tokenizer.json").exists():
        return Tokenizer.from_file(str(folder / "tokenizer.json")), folder / "tokenizer.json"
    for vocabulary, merges in [("encoder.json", "vocab.bpe"), ("vocab.json", "merges.txt")]:
        if not (folder / vocabulary).exists():
            continue
        ids = json.loads((folder / vocabulary).read_text())
        name = "opt" if "</s>" in ids else "gpt2"
        tokenizer = steps(name, Tokenizer(models.BPE.from_file(str(folder / vocabulary), str(folder / merges))))
        tokenizer.add_special_tokens(special(*SPECIAL_FIRST[name]))
        return finish(name, tokenizer), folder / vocabulary
    return None
