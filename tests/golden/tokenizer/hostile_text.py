#!/usr/bin/env python3
"""Text that is hard on tokenizers, the same wherever the same Python runs: documents(bytes) gives a list of strings.

Source code of the standard library, words of every script, every character that Unicode assigns, unassigned ones, runs
of blanks of all kinds, emoji, stacks of combining marks, digits of all scripts, contractions, special tokens and what
nearly is one."""
import pathlib
import random
import sys
import unicodedata

SPECIAL = ["<|endoftext|>", "<|padding|>", "<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>",
           "<|reserved_special_token_17|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>", "<|im_start|>", "<|im_end|>",
           "<repo_name>", "<file_sep>", "<|endoftext|", "|endoftext|>", "<|", "|>", "< s>", "<S>", "</ s>"]
BLANKS = [" "] * 12 + ["\n"] * 4 + ["\t", "\r\n", "\r", "\v", "\f", "\x85", "\xa0", "\u1680", "\u2003", "\u2009", "\u2028",
                                    "\u202f", "\u205f", "\u3000", "\u200b", "\ufeff", "\u180e", "\x1c", "\x1f"]
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'Ve", "'LL", "'D", "'\u017f", "\u2019s",
                "''s", "'l", "'r", "'v", "'", "'\u017ft", "'\u212a", "'\ufb05"]


def characters():
    return [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c <= 0xDFFF and
            unicodedata.category(chr(c)) not in ("Cn", "Co")]


def scripts(every):
    """Letters and marks by the first word of their names, which is nearly the script."""
    by_name = {}
    for c in every:
        if unicodedata.category(c)[0] in "LM":
            by_name.setdefault(unicodedata.name(c, "X").split()[0], []).append(c)
    return [by_name[name] for name in sorted(by_name)]


def standard_library():
    folder = pathlib.Path(random.__file__).parent
    for path in sorted(folder.glob("*.py")) + sorted(folder.glob("test/test_un*.py")) + sorted(folder.glob("json/*.py")):
        yield path.read_text(encoding="utf-8", errors="replace")


def documents(size):
    draw = random.Random(11)
    every = characters()
    of_script = scripts(every)
    marks = [c for c in every if unicodedata.category(c)[0] == "M"]
    numbers = [c for c in every if unicodedata.category(c)[0] == "N"]
    signs = [c for c in every if unicodedata.category(c)[0] in "PS"]
    emoji = [c for c in every if 0x1F300 <= ord(c) <= 0x1FAFF]

    def word():
        letters = draw.choice(of_script)
        return "".join(draw.choice(letters) for _ in range(draw.randint(1, 12)))

    def blanks():
        one = draw.choice(BLANKS)
        return one * draw.randint(1, 60) if draw.random() < 0.5 else "".join(
            draw.choice(BLANKS) for _ in range(draw.randint(1, 9)))

    def stack():
        base = draw.choice(["e", "A", "\u1100", "\u1100\u1161", "\uac00", "\u05d0", "\u0915", "\u212b", " ", "\n", "1"])
        return base + "".join(draw.choice(marks) for _ in range(draw.randint(1, 8)))

    def composed():
        return unicodedata.normalize(draw.choice(["NFD", "NFC", "NFKD"]), "".join(
            draw.choice(every[150:60000]) for _ in range(draw.randint(1, 9))))

    def faces():
        join = draw.choice(["", "\u200d", "\ufe0f", "\U0001f3fd"])
        flag = "".join(chr(0x1F1E6 + draw.randrange(26)) for _ in range(draw.randint(0, 4)))
        return join.join(draw.choice(emoji) for _ in range(draw.randint(1, 5))) + flag

    def digits():
        own = draw.choice([numbers, "0123456789", "0123456789", "0123456789.,-"])
        return "".join(draw.choice(own) for _ in range(draw.randint(1, 12)))

    def special():
        return draw.choice(["", " ", "  ", "\n", "x"]) + draw.choice(SPECIAL) + draw.choice(["", " ", "\t ", "y", "."])

    def odd():
        return "".join(chr(draw.choice([draw.randrange(1, 0xD800), draw.randrange(0xE000, 0x110000),
                                        draw.randrange(0x10000, 0x20000)])) for _ in range(draw.randint(1, 6)))

    def ruler():
        return draw.choice(signs) * draw.randint(1, 90)

    def pair():
        return "".join(draw.choice(signs) for _ in range(draw.randint(1, 4))) + draw.choice(["", "\n", "\r\n", "\n\n"])

    makers = [word] * 6 + [blanks] * 3 + [stack, stack, composed, faces, digits, digits, special, special, odd, ruler, pair,
                                          lambda: word() + draw.choice(CONTRACTIONS) + draw.choice(["", " ", word()]),
                                          lambda: draw.choice(["the", "Tokenizer", "don't", "I'LL", "x2y"])]
    made = []
    total = 0

    def add(text):
        nonlocal total
        made.append(text)
        total += len(text.encode())

    for i in range(0, len(every), 997):  # every character, once in order and once among blanks
        add("".join(every[i:i + 997]))
        add(" ".join(every[i:i + 997]))
    code = []
    used = 0
    for text in standard_library():
        if total + used > size * 3 // 5:
            break
        for i in range(0, len(text), 9000):
            code.append(text[i:i + 9000])
            used += len(code[-1].encode())
    for text in code:
        add(text)
    while total < size:
        length = draw.randint(1, 6000)
        parts = []
        while length > 0:
            parts.append(draw.choice(makers)() + draw.choice(["", "", "", " ", " "]))
            length -= len(parts[-1])
        add("".join(parts))
    draw.shuffle(made)
    return made


if __name__ == "__main__":
    sys.stdout.buffer.write("\n<|endoftext|>\n".join(documents(int(sys.argv[1]))).encode())
