"""Builds tokenizers in the form of each family with the `tokenizers` package: family(name, texts, vocabulary), and those
of given files: from_folder(path). Written from the tokenizer.json files that the models come with; LLaMA 3's has 256
special tokens and 128,000 others, which the form does not depend on."""
import json
import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
TEKKEN = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = TEKKEN.replace(LOWER + "+", LOWER + "+" + CONTRACTIONS).replace(LOWER + "*|", LOWER + "*" + CONTRACTIONS + "|").replace(
    r"|\p{N}|", r"|\p{N}{1,3}|")
SPLITS = {"llama3": LLAMA3, "qwen2": QWEN2, "gptoss": O200K, "tekken": TEKKEN}
BYTES = ["gpt2", "gptneox", "opt", "llama3", "smollm", "qwen2", "gptoss", "tekken"]
CHARACTERS = ["llama2", "mistral", "gemma", "metaspace", "without_bytes"]
FAMILIES = BYTES + CHARACTERS


META = "\u2581"


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
    if name in SPLITS:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(Regex(SPLITS[name]), "isolated"), byte_level(use_regex=False)])
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    if name == "smollm":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), byte_level()])
    return tokenizer


SPECIAL_FIRST = {"gpt2": ["<|endoftext|>"], "gptneox": ["<|endoftext|>", "<|padding|>"], "opt": ["<pad>", "</s>"],
                 "llama3": [], "qwen2": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], "gptoss": ["<|endoftext|>"],
                 "tekken": ["<unk>", "<s>", "</s>"], "smollm": ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<repo_name>", "<file_sep>"]}


def pieces(name, texts, vocabulary):
    """What LLaMA 2's vocabulary consists of: special tokens, bytes, merged pieces, characters; and the merges."""
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", META)
    # Gemma's pieces are meant to reach over several words here, which no other family's do.
    trained.pre_tokenizer = (pre_tokenizers.Split("\n", "isolated") if name == "gemma" else
                             pre_tokenizers.Metaspace(prepend_scheme="never"))
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, show_progress=False, limit_alphabet=min(400, vocabulary // 3),
                                  initial_alphabet=[META], max_token_length=16)
    trained.train_from_iterator([t[:3000] for t in texts] if name == "gemma" else texts, trainer)
    model = json.loads(trained.to_str())["model"]
    first = ["<pad>", "<eos>", "<bos>", "<unk>"] if name == "gemma" else ["<unk>", "<s>", "</s>"]
    first += [] if name == "without_bytes" else [f"<0x{b:02X}>" for b in range(256)]
    rest = sorted(set(model["vocab"]) - set(first), key=lambda t: (len(t) == 1, model["vocab"][t]))
    return {t: i for i, t in enumerate(first + rest)}, [tuple(m) for m in model["merges"]]


def of_characters(name, texts, vocabulary):
    vocab, merges = pieces(name, texts, vocabulary)
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=name != "without_bytes",
                                     ignore_merges=name == "mistral"))
    decoder = [decoders.Replace(META, " "), decoders.ByteFallback(), decoders.Fuse()]
    replace = normalizers.Replace(" ", META)
    begin = "<bos>" if name == "gemma" else "<s>"
    if name == "gemma":
        tokenizer.normalizer = replace
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        tokenizer.add_special_tokens(special("<pad>", "<eos>", "<bos>", "<unk>"))
        tokenizer.add_tokens([AddedToken(t, normalized=False) for t in ("<mask>", "\n\n", "\n\n\n", "</s>")])
    else:
        tokenizer.add_special_tokens(special("<unk>", "<s>", "</s>"))
        decoder.append(decoders.Strip(" ", 1, 0))
    if name in ("llama2", "without_bytes"):
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(META), replace])
    if name == "mistral":
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = decoders.Sequence(decoder)
    if name == "metaspace":
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", pair=f"{begin} $A {begin} $B", special_tokens=[(begin, tokenizer.token_to_id(begin))])
    return tokenizer


def family(name, texts, vocabulary):
    if name in CHARACTERS:
        return of_characters(name, texts, vocabulary)
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
