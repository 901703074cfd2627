"""Vocabularies with scores: learnt(texts, vocabulary) trains one with SentencePiece, write_llama2c writes it as llama2.c's
export.py does, and read_llama2c and Llama2c are llama2.c's encode() and decode() in plain Python."""
import io
import struct

SPACE = "\u2581"


def learnt(texts, vocabulary):
    """A SentencePiece processor, in LLaMA 2's configuration, and its pieces as (piece, score)."""
    import sentencepiece
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for t in texts for line in t.split("\n")), model_writer=made, model_type="bpe",
        vocab_size=vocabulary, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        add_dummy_prefix=True, character_coverage=0.99, max_sentence_length=20000, minloglevel=2, num_threads=1)
    processor = sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())
    return processor, [(processor.id_to_piece(i), processor.get_score(i)) for i in range(processor.vocab_size())]


def write_llama2c(path, pieces):
    texts = [p.replace(SPACE, " ").encode() for p, _ in pieces]
    texts[1], texts[2] = b"\n<s>\n", b"\n</s>\n"
    with open(path, "wb") as file:
        file.write(struct.pack("<i", max(map(len, texts))))
        for text, (_, score) in zip(texts, pieces):
            file.write(struct.pack("<fi", score, len(text)) + text)


def read_llama2c(path):
    data = open(path, "rb").read()
    at, pieces = 4, []
    while at < len(data):
        score, length = struct.unpack_from("<fi", data, at)
        pieces.append((data[at + 8:at + 8 + length], score))
        at += 8 + length
    return pieces


class Llama2c:
    def __init__(self, path):
        self.pieces = read_llama2c(path)
        self.ids = {piece: i for i, (piece, _) in enumerate(self.pieces)}

    def encode(self, text):
        tokens = [self.ids[b" "]] if text else []
        for c in text:
            c = c.encode()
            tokens += [self.ids[c]] if c in self.ids else [b + 3 for b in c]
        while True:
            best = (-1e10, -1, -1)
            for i, (a, b) in enumerate(zip(tokens, tokens[1:])):
                token = self.ids.get(self.pieces[a][0] + self.pieces[b][0])
                if token is not None and self.pieces[token][1] > best[0]:
                    best = (self.pieces[token][1], token, i)
            if best[1] < 0:
                return tokens
            tokens[best[2]:best[2] + 2] = [best[1]]

    def decode(self, tokens):
        """As if <s>, behind which a leading space goes, stood before them."""
        text = b"".join(bytes([t - 3]) if 3 <= t < 259 else self.pieces[t][0] for t in tokens)
        return text.removeprefix(b" ").decode()
