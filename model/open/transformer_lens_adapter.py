"""Opens the folder of this file, which Sinklab exported, in TransformerLens 3 or later.

    from transformer_lens_adapter import load        # with this folder in sys.path
    model = load()                                   # a TransformerBridge
    logits, cache = model.run_with_cache("Hello")
    cache["pattern", 0]                              # (batch, head, query, key)

Needs torch, transformers 5 and transformer_lens. In a folder without a tokenizer a text is token ids: "3 17 5". A begin
token is put before a text if the model has one (bos_token_id of config.json), and never before ids.
"""
import pathlib

import tokenizers
import torch
import transformers
from transformer_lens.model_bridge import TransformerBridge

FOLDER = pathlib.Path(__file__).resolve().parent


def load(folder=FOLDER, dtype=torch.float32, device="cpu"):
    """The model with the weights as they are in the file: no folded norms, no centered weights. Raises ValueError if
    TransformerLens does not support the architecture, or computes other logits than transformers."""
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, attn_implementation="eager", experts_implementation="eager").to(device).eval()
    kind, vocabulary = model.config.model_type, model.config.vocab_size
    ids = torch.arange(min(16, model.config.max_position_embeddings), device=device)[None] * 7 % vocabulary
    with torch.no_grad():
        expected = model(ids).logits
    try:
        bridge = TransformerBridge.boot_transformers(str(folder), hf_model=model, device=device, dtype=dtype,
                                                     tokenizer=tokenizer_of(folder, model.config))
        with torch.no_grad():
            logits = bridge(ids)
    except Exception as error:
        raise ValueError(f"this version of TransformerLens cannot open {kind} of these sizes: {error}") from error
    error = ((logits - expected).abs().max() / expected.abs().max()).item()
    if not error < (1e-4 if dtype in (torch.float32, torch.float64) else 2e-2):
        raise ValueError(f"this version of TransformerLens computes other logits for {kind} than transformers: the largest "
                         f"difference is {error:.2g} of the largest logit")
    bridge.cfg.default_prepend_bos = has_tokenizer(folder) and model.config.bos_token_id is not None
    return bridge


def has_tokenizer(folder):
    return (pathlib.Path(folder) / "tokenizer.json").exists()


def tokenizer_of(folder, config):
    if has_tokenizer(folder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        if config.bos_token_id is None:
            return tokenizer
        begin = tokenizer.convert_ids_to_tokens(config.bos_token_id)
        return transformers.AutoTokenizer.from_pretrained(folder, bos_token=begin)
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({str(n): n for n in range(config.vocab_size)}, unk_token="0"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    return TokenIds(tokenizer_object=words)


class TokenIds(transformers.PreTrainedTokenizerFast):
    """Texts such as "3 17 5". Raises ValueError for a word that is no token id, which would be token 0."""

    def __call__(self, text=None, *args, **kwargs):
        texts = [text] if isinstance(text, str) else text or []
        for word in (word for each in texts if isinstance(each, str) for word in each.split()):
            if word not in self.all_special_tokens and str(self.convert_tokens_to_ids(word)) != word:
                raise ValueError(f"{word!r} is no token id: the folder has no tokenizer, so a text is token ids from 0 to "
                                 f"{self.vocab_size - 1}, such as \"3 17 5\"")
        return super().__call__(text, *args, **kwargs)
