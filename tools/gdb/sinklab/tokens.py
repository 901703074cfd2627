"""The tokens of the model's input: their text if the program has a tokenizer, otherwise their ids. The tokenizer is found
in the frames: in the data source or in the checkpoint."""
import json

import gdb

from .stack import frame_of, frames, in_scope, local, locals_of, of_caller
from .values import plain, pointee, string_text, tensor_of, type_name, vector_items

# tokenizer.json writes bytes as characters: printable ones as they are, the others from 256 on (GPT-2's table).
PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
BYTE_OF = {chr(byte): byte for byte in PRINTABLE}
BYTE_OF.update({chr(256 + n): byte for n, byte in enumerate(byte for byte in range(256) if byte not in PRINTABLE)})


def texts_of_data(source):
    """id -> text from a pointer to a DataSource; {} if it has no text."""
    data = source.cast(source.dynamic_type).dereference()
    if "tokenizer_" not in {field.name for field in data.type.fields()}:
        return {}
    return dict(enumerate(string_text(text) for text in vector_items(data["tokenizer_"]["model_"]["bytes"])))


def texts_of_json(text):
    """id -> text from a tokenizer.json."""
    tokenizer = json.loads(text)
    words = {id: bytes(BYTE_OF.get(c, 63) for c in word).decode("utf-8", "replace")
             for word, id in tokenizer["model"]["vocab"].items()}
    words.update({added["id"]: added["content"] for added in tokenizer.get("added_tokens", [])})
    return words


def texts_of_checkpoint(checkpoint):
    attributes = gdb.default_visualizer(plain(checkpoint)["attributes"])
    if attributes is None:  # gdb without the printers of the standard library
        return {}
    items = [item for _, item in attributes.children()]
    for key, value in zip(items[::2], items[1::2]):
        if string_text(key) == "tokenizer_json":
            return texts_of_json(string_text(value))
    return {}


def texts_of_explained(explained):
    ids = tensor_of(explained["tokens_1T"]).row([0])
    return {id: string_text(text) for id, text in zip(ids, vector_items(explained["words_T"]))}


def texts_in(frame, name, value):
    """id -> text from a local variable; {} if it has none."""
    kind = type_name(value)
    if name == "this":
        of_run = (frame.name() or "").startswith("sink::TrainingRun::")
        return texts_of_data(pointee(value.dereference()["data_"])) if of_run else {}
    if not in_scope(frame, name):
        return {}
    if kind.startswith("std::unique_ptr<sink::DataSource") and int(pointee(plain(value))):
        return texts_of_data(pointee(plain(value)))
    if kind == "sink::ExplainedModel":
        return texts_of_explained(plain(value))
    return texts_of_checkpoint(value) if kind == "sink::Checkpoint" else {}


def vocabulary():
    """id -> text from the nearest frame that has it; {} if none has."""
    for frame in frames():
        for name, value in locals_of(frame):
            texts = texts_in(frame, name, value)
            if texts:
                return texts
    return {}


def ids_and_texts(b):
    frame = frame_of("checked_forward")
    return (tensor_of(local(frame, "tokens_BT")).row([b]), vocabulary()) if frame else None


def token_words(b, keys):
    """One word per key of sequence b; "*" for tokens that the model adds in front; "" if unknown."""
    ids, texts = of_caller(lambda: ids_and_texts(b)) or (None, None)
    if ids is None:
        return [""] * keys
    shown = lambda text: "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    words = [shown(texts[id]) if id in texts else str(id) for id in ids]
    return ["*"] * (keys - len(words)) + words
