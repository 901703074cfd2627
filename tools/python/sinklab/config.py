"""The sizes of a model, by TransformerLens's names."""

from __future__ import annotations


class Config(dict[str, int]):
    """``model.cfg.n_layers``, or ``model.cfg["n_layers"]``. A size that a model does not have is 0."""

    n_layers: int
    n_heads: int
    #: Fewer than n_heads in grouped-query attention.
    n_key_value_heads: int
    d_model: int
    d_head: int
    d_mlp: int
    #: 0: no mixture of experts.
    num_experts: int
    d_vocab: int
    n_ctx: int
    #: The keys that a query sees in layers with a window.
    window_size: int
    #: The first tokens that see each other.
    prefix: int
    #: The tokens of the model itself, before every text.
    extra_tokens: int

    def __getattr__(self, name: str) -> int:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"cfg has no {name}: it has {', '.join(self)}") from None
