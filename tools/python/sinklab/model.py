"""Language models: load them, run them, read and replace their activations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Optional, Union, overload

import numpy as np

from sinklab import _core
from sinklab._core import Error
from sinklab.arguments import array_of, file_name, places_of_texts, real, token_ids, utf8, whole
from sinklab.cache import ActivationCache
from sinklab.config import Config
from sinklab.names import GRAD, Key, full_name, heads_first
from sinklab.texts import Ids, Input, Progress, TextMethods, Texts, is_texts, of_each
from sinklab.weights import Weights

if TYPE_CHECKING:
    from sinklab.sink import SinkScores

Hook = Callable[[np.ndarray, str], Optional[np.ndarray]]
Names = Union[None, Key, Iterable[Key], Callable[[str], bool]]
Hooks = Iterable[tuple[Names, Hook]]
Mask = Union[None, Sequence[int], Sequence[Sequence[int]], np.ndarray]
ReturnType = Literal["logits", "loss", "both", None]


class Tokens(NamedTuple):
    """The tokens of a text: ``ids``, int32 (pos,), and their printable ``strings``."""

    ids: np.ndarray
    strings: list[str]


class TrainStep(NamedTuple):
    """What a step of training measured: the loss before it in nats, and the norm of all gradients before clipping."""

    loss: float
    grad_norm: float
    learning_rate: float


def load(path: str | os.PathLike, dtype: str = "float32", device: str = "cpu", gradients: bool = False) -> Model:
    """Loads a model.

    Args:
        path: a GGUF file, a Hugging Face folder (config.json and safetensors), a checkpoint or the folder of a run of
            Sinklab, a ``.bin`` of llama2.c, or the name of a model in the cache of the Hugging Face hub (ORG/NAME). Nothing
            is downloaded.
        dtype: "float32"; "float64", plain loops in double for checks; or "bfloat16".
        device: "cpu", or "cuda" in a build that has it.
        gradients: reads all weights to memory, as passes with gradients need. Without it, those of a GGUF file or a folder
            stay there in float32 and bfloat16, decoded in every pass.

    Raises:
        sinklab.Error: the file is missing, damaged or of a model that Sinklab does not have.
    """
    for name, value in (("dtype", dtype), ("device", device)):
        if not isinstance(value, str):
            raise Error(f"{name} must be a text, such as {'float32' if name == 'dtype' else 'cpu'}, got {value!r}")
    return Model(_core.load(file_name(path), dtype, device, bool(gradients)), os.fsdecode(path))


def set_threads(count: int) -> None:
    """Sets the number of threads of all computations. The default is one per core, or OMP_NUM_THREADS."""
    _core.set_thread_count(whole("count", count, 1, 4096))


class Model(Weights, TextMethods):
    """A language model. ``sinklab.load`` and ``sinklab.ablation`` make one.

    An input is a text, token ids (pos,), or token ids (batch, pos). Where a list of texts is taken, of any lengths, the result
    is a list of what each text gives alone. One computation runs at a time in a process, on all
    threads and without the GIL. Ctrl-C ends it after the current block.
    """

    def __init__(self, core: _core.Model, path: str):
        self._core = core
        self.path = path
        self.cfg = Config(core.sizes())
        #: The ablation with the policies of the model, such as "llama".
        self.ablation: str = core.ablation

    def __repr__(self) -> str:
        c = self.cfg
        return (f"Model({self.path!r}: {self.ablation}, {c['n_layers']} layers, {c['n_heads']} heads, "
                f"d_model {c['d_model']}, vocabulary {c['d_vocab']}, context {c['n_ctx']})")

    def _ids(self, given: Input) -> np.ndarray:
        if isinstance(given, str):
            given = self._core.encode(utf8(given))
        return token_ids(given, self.cfg["d_vocab"])

    def tokens(self, text: Input) -> Tokens:
        """The tokens of a text, or of ids, as the model reads them: with the begin token of its tokenizer, if it has one.

        >>> model.tokens("Hello world").strings
        ['Hello', ' world']
        """
        ids = self._ids(text)
        if ids.shape[0] != 1:
            raise Error(f"expected one sequence, got {ids.shape[0]}")
        return Tokens(ids[0], self._core.token_texts(ids[0].tolist()))

    @overload
    def __call__(self, input: Input, return_type: Literal["logits"] = "logits", attention_mask: Mask = None) -> np.ndarray: ...
    @overload
    def __call__(self, input: Texts, return_type: Literal["logits"] = "logits") -> list[np.ndarray]: ...
    @overload
    def __call__(self, input: Input, return_type: Literal["loss"], attention_mask: Mask = None) -> float: ...
    @overload
    def __call__(self, input: Texts, return_type: Literal["loss"]) -> list[float]: ...
    @overload
    def __call__(self, input: Input, return_type: Literal["both"], attention_mask: Mask = None) -> tuple[np.ndarray, float]: ...
    @overload
    def __call__(self, input: Texts, return_type: Literal["both"]) -> list[tuple[np.ndarray, float]]: ...
    @overload
    def __call__(self, input: Input | Texts, return_type: None, attention_mask: Mask = None) -> None: ...

    def __call__(self, input: Any, return_type: Any = "logits", attention_mask: Mask = None) -> Any:
        """The logits: (pos, d_vocab) for a text or ids (pos,), else (batch, pos, d_vocab); of a list of texts, a list.

        Args:
            input: a text, a list of texts, or token ids.
            return_type: "logits"; "loss", as ``loss`` gives it; "both", a pair whose loss is that of the logits, in double; or
                None.
            attention_mask: of padded token ids, of their shape: 1 at the tokens of a text, 0 before or after them. Each text
                gives what it gives alone, with positions from its first token on; logits and losses of padding are NaN.
        """
        if attention_mask is None:
            return self.run_with_hooks(input, (), return_type)
        self._require_return_type(return_type)
        ids, places = self._padded(input, attention_mask)
        if return_type == "loss":
            return self.loss(input, attention_mask=attention_mask)
        rows = [self._run(ids[n, place], set(), {})[0] for n, place in enumerate(places)]
        logits = np.full((*ids.shape, self.cfg["d_vocab"]), np.nan, dtype=rows[0].dtype)
        following = np.full_like(ids, -1)
        for n, place in enumerate(places):
            logits[n, place] = rows[n]
            if return_type == "both" and place.stop - place.start > 1:
                following[n, place] = self._ids_and_targets(ids[n, place], None)[1][0]
        logits = logits if np.ndim(input) == 2 else logits[0]
        return None if return_type is None else (logits, _cross_entropy(logits, following)) if return_type == "both" else logits

    def _padded(self, input: Input, attention_mask: Mask) -> tuple[np.ndarray, list[slice]]:
        if isinstance(input, str) or is_texts(input):
            raise Error("attention_mask is of token ids: texts of any lengths are a list, without a mask")
        ids = self._ids(input)
        return ids, places_of_texts(attention_mask, ids.shape)

    @overload
    def run_with_cache(self, input: Input, names: Names = None, *, names_filter: Names = None, fwd_hooks: Hooks = (),
                       return_type: ReturnType = "logits", incl_bwd: bool = False) -> tuple[Any, ActivationCache]: ...
    @overload
    def run_with_cache(self, input: Texts, names: Names = None, *, names_filter: Names = None, fwd_hooks: Hooks = (),
                       return_type: ReturnType = "logits", incl_bwd: bool = False) -> list[tuple[Any, ActivationCache]]: ...

    def run_with_cache(self, input: Any, names: Names = None, *, names_filter: Names = None, fwd_hooks: Hooks = (),
                       return_type: ReturnType = "logits", incl_bwd: bool = False) -> Any:
        """The logits, and the activations: a pair; of a list of texts, a list of pairs.

        Args:
            input: a text, a list of texts, or token ids.
            names: what to keep: a name, names, or a function of the full name, such as
                ``lambda name: name.endswith("hook_pattern")``. By default all but attn_scores, which are slow. Names can
                be short: "pattern" (of every layer) or ("pattern", 3).
            names_filter: TransformerLens's word for ``names``.
            fwd_hooks: as in run_with_hooks. The cache has what they return.
            return_type: what comes before the cache, as in a call; a loss is that of the logits, in double.
            incl_bwd: also keeps the gradient of ``loss(input)`` with respect to each of the activations, under its name
                with ``_grad`` after it. Needs return_type="loss" or None.

        >>> loss, cache = model.run_with_cache("Hello world", return_type="loss", incl_bwd=True)
        >>> cache["resid_pre_grad", 3]
        """
        if names is not None and names_filter is not None:
            raise Error("names and names_filter are the same argument: give one of them")
        self._require_return_type(return_type)
        kept = self._chosen(names_filter if names is None else names)
        if is_texts(input):
            pairs = _pairs("fwd_hooks", fwd_hooks)
            return of_each(input, lambda text: self.run_with_cache(text, kept, fwd_hooks=pairs, return_type=return_type,
                                                                   incl_bwd=incl_bwd))
        hooks = self._hooks("fwd_hooks", fwd_hooks)
        if incl_bwd:
            loss, activations = self._run_backward("incl_bwd", input, return_type, kept, hooks, {})
            return (None if return_type is None else loss), self._cache(activations)
        logits, activations = self._run(input, kept, hooks)
        return self._returned(input, logits, return_type), self._cache(activations)

    @overload
    def run_with_hooks(self, input: Input, fwd_hooks: Hooks = (), return_type: Literal["logits"] = "logits") -> np.ndarray: ...
    @overload
    def run_with_hooks(self, input: Texts, fwd_hooks: Hooks = (), return_type: Literal["logits"] = "logits") -> list[np.ndarray]: ...
    @overload
    def run_with_hooks(self, input: Input, fwd_hooks: Hooks = (), *, return_type: Literal["loss"], bwd_hooks: Hooks = ()) -> float: ...
    @overload
    def run_with_hooks(self, input: Texts, fwd_hooks: Hooks = (), *, return_type: Literal["loss"], bwd_hooks: Hooks = ()) -> list[float]: ...
    @overload
    def run_with_hooks(self, input: Input, fwd_hooks: Hooks = (), *, return_type: Literal["both"]) -> tuple[np.ndarray, float]: ...
    @overload
    def run_with_hooks(self, input: Texts, fwd_hooks: Hooks = (), *, return_type: Literal["both"]) -> list[tuple[np.ndarray, float]]: ...
    @overload
    def run_with_hooks(self, input: Input | Texts, fwd_hooks: Hooks = (), *, return_type: None, bwd_hooks: Hooks = ()) -> None: ...

    def run_with_hooks(self, input: Any, fwd_hooks: Hooks = (), return_type: Any = "logits", bwd_hooks: Hooks = ()) -> Any:
        """The logits of a forward pass in which functions replace activations.

        Args:
            input: a text, a list of texts, or token ids.
            fwd_hooks: pairs of names, as in run_with_cache, and a function ``hook(activation, name)``. It returns an array
                of the same shape, or changes ``activation`` in place and returns None. A replaced pattern is multiplied
                with the values as it is: rows need not sum to one.
            return_type: as in a call.
            bwd_hooks: the same for the gradient of the loss with respect to an activation: ``hook(gradient, name)`` reads
                it, or replaces what flows on to earlier activations. Those of attn_scores and patterns are read-only. Needs
                return_type="loss" or None.

        >>> def no_sink(pattern, name):
        ...     pattern[..., 0] = 0
        >>> model.run_with_hooks("Hello world", [(("pattern", 3), no_sink)])
        """
        self._require_return_type(return_type)
        if is_texts(input):
            pairs, back = _pairs("fwd_hooks", fwd_hooks), _pairs("bwd_hooks", bwd_hooks)
            results = of_each(input, lambda text: self.run_with_hooks(text, pairs, return_type=return_type, bwd_hooks=back))
            return None if return_type is None else results
        backward = self._hooks("bwd_hooks", bwd_hooks)
        if backward:
            hooks = self._hooks("fwd_hooks", fwd_hooks)
            loss, _ = self._run_backward("bwd_hooks", input, return_type, set(), hooks, backward)
            return None if return_type is None else loss
        if return_type == "loss":
            return self.loss(input, fwd_hooks=fwd_hooks)
        return self._returned(input, self._run(input, set(), self._hooks("fwd_hooks", fwd_hooks))[0], return_type)

    def generate(self, prompt: Input, max_new_tokens: int = 32, temperature: float = 0, top_p: float | None = None,
                 seed: int | None = None, stop_at_eos: bool = True, fwd_hooks: Hooks = ()) -> str | np.ndarray:
        """Continues a prompt. Returns the text with its continuation; for ids, the ids (pos,).

        Args:
            prompt: a text or token ids (pos,).
            max_new_tokens: at most so many tokens; fewer where the text or the context ends.
            temperature: divides the logits; 0 takes the most likely token.
            top_p: samples from the fewest most likely tokens with at least this probability; by default from all.
            seed: of the sampled tokens; by default 0. Like top_p, it is read with a temperature above 0 only.
            stop_at_eos: ends at an end-of-text or end-of-turn token, which is left out.
            fwd_hooks: as in run_with_hooks. They see the whole text so far at each token, which is read again: nothing is
                cached.
        """
        most, temperature = whole("max_new_tokens", max_new_tokens, 1, 2**63 - 1), real("temperature", temperature, 0, 100)
        if temperature == 0 and (top_p is not None or seed is not None):
            raise Error("top_p and seed are read with a temperature above 0 only: give one, or leave them out")
        top_p = real("top_p", 1 if top_p is None else top_p, 1e-9, 1)
        seed = whole("seed", 0 if seed is None else seed, 0, 2**64 - 1)
        ids = self._ids(prompt)
        if ids.shape[0] != 1:
            raise Error(f"expected one prompt, got {ids.shape[0]}")
        if ids.shape[1] > self.cfg["n_ctx"]:
            raise Error(f"the prompt has {ids.shape[1]} tokens, and the model has a context of {self.cfg['n_ctx']}")
        before = ids[0].tolist()
        hooks = self._hooks("fwd_hooks", fwd_hooks)
        with Progress("token", most) as progress:
            if hooks:
                new = self._generated_with_hooks(ids, most, (temperature, top_p, seed), bool(stop_at_eos), hooks, progress)
            else:
                step = progress.step if progress.shown else None
                new = self._core.generate(before, most, temperature, top_p, seed, bool(stop_at_eos), step)
        if not isinstance(prompt, str):
            return np.concatenate([ids[0], np.array(new, dtype=np.int32)])
        # Decoded after the prompt: some tokenizers leave out a space at the beginning of a text.
        start = len(self._core.decode(before))
        return prompt + self._core.decode(before + new)[start:].decode("utf-8", "replace")

    def _generated_with_hooks(self, ids_1T: np.ndarray, most: int, sampling: tuple[float, float, int], stop: bool,
                              hooks: dict[str, list[Hook]], progress: Progress) -> list[int]:
        stops = self._core.stop_tokens() if stop else []
        new: list[int] = []
        while len(new) < most and ids_1T.shape[1] <= self.cfg["n_ctx"]:
            token = self._core.choose(self._run(ids_1T, set(), hooks)[0][0, -1], *sampling, len(new))
            if token in stops:
                break
            new.append(token)
            progress.step()
            ids_1T = np.append(ids_1T, np.array([[token]], dtype=np.int32), 1)
        return new

    @overload
    def sink_scores(self, input: Input) -> SinkScores: ...
    @overload
    def sink_scores(self, input: Texts) -> list[SinkScores]: ...

    def sink_scores(self, input: Any) -> Any:
        """How much attention the first tokens get in every head; of a list of texts, a list. Stores no attention pattern, so
        texts can be long."""
        from sinklab.sink import SinkScores

        if is_texts(input):
            return of_each(input, self.sink_scores)
        return SinkScores._of_tables(self._core.sink_scores(self._ids(input)))

    @overload
    def loss(self, input: Input, targets: Ids | None = None, per_token: Literal[False] = False, fwd_hooks: Hooks = (),
             attention_mask: Mask = None) -> float: ...
    @overload
    def loss(self, input: Texts, targets: None = None, per_token: Literal[False] = False,
             fwd_hooks: Hooks = ()) -> list[float]: ...
    @overload
    def loss(self, input: Input, targets: Ids | None = None, *, per_token: Literal[True], fwd_hooks: Hooks = (),
             attention_mask: Mask = None) -> np.ndarray: ...
    @overload
    def loss(self, input: Texts, targets: None = None, *, per_token: Literal[True],
             fwd_hooks: Hooks = ()) -> list[np.ndarray]: ...

    def loss(self, input: Any, targets: Ids | None = None, per_token: bool = False, fwd_hooks: Hooks = (),
             attention_mask: Mask = None) -> Any:
        """The mean cross-entropy in nats of the targets; by default of the next tokens. Of a list of texts, a list.

        Args:
            input: a text, a list of texts, or token ids (pos,) or (batch, pos).
            targets: the token after each position, of the shape of the ids; -1: none. With a prefix of p tokens, which
                see each other, the first p - 1 are left out.
            per_token: instead of the mean the losses (pos - 1,) or (batch, pos - 1) of the next tokens; with targets, those of
                the shape of the ids. NaN where there is no target.
            fwd_hooks: as in run_with_hooks.
            attention_mask: as in a call, instead of targets: the mean over the tokens of all texts.
        """
        if attention_mask is not None:
            if targets is not None:
                raise Error("attention_mask and targets both leave out padding: give one of them")
            ids, places = self._padded(input, attention_mask)
            pairs = _pairs("fwd_hooks", fwd_hooks)
            losses = np.full(ids[:, 1:].shape, np.nan)
            for n, place in enumerate(places):
                if place.stop - place.start > 1:
                    losses[n, place.start:place.stop - 1] = self.loss(ids[n, place], per_token=True, fwd_hooks=pairs)
            if np.isnan(losses).all():
                raise Error("no text of the attention_mask has two tokens, so none has a target")
            return float(np.nanmean(losses)) if not per_token else losses if np.ndim(input) == 2 else losses[0]
        if is_texts(input):
            if targets is not None:
                raise Error("a list of texts has no targets: give token ids with their targets, one sequence at a time")
            pairs = _pairs("fwd_hooks", fwd_hooks)
            return of_each(input, lambda text: self.loss(text, per_token=per_token, fwd_hooks=pairs))
        ids, following = self._ids_and_targets(input, targets)
        hooks = self._hooks("fwd_hooks", fwd_hooks)
        found: Any = self._core.loss(ids, following, set(), set(hooks), _replace(hooks) if hooks else None, bool(per_token))[0]
        if not per_token:
            return found
        losses = np.where(following == -1, np.nan, found)
        losses = losses if targets is not None else losses[:, :-1]
        return losses if np.ndim(input) == 2 else losses[0]

    def train_step(self, input: Input, targets: Ids | None = None) -> TrainStep:
        """Updates the weights of a model of ``sinklab.ablation`` once. Arguments as in ``loss``.

        The optimizer, the learning rate of the step and clipping are those of the settings. Where the loss or a gradient
        is not finite, the weights stay as they are. Ctrl-C ends the forward pass; later, the step is completed first.
        """
        return TrainStep(*self._core.train_step(*self._ids_and_targets(input, targets)))

    def save(self, path: str | os.PathLike) -> None:
        """Writes a model of ``sinklab.ablation`` as a checkpoint (.h5), which ``load``, ``Checkpoint`` and h5py read."""
        self._core.save(file_name(path))

    def _ids_and_targets(self, given: Input, targets: Ids | None) -> tuple[np.ndarray, np.ndarray]:
        ids = self._ids(given)
        following = np.full_like(ids, -1)
        if targets is None:
            following[:, :-1] = ids[:, 1:]
        else:
            array = np.atleast_2d(array_of(f"integer targets of shape {ids.shape}", targets))
            if array.dtype.kind not in "iu" or array.shape != ids.shape:
                raise Error(f"expected integer targets of shape {ids.shape}, got {array.dtype} of shape {array.shape}")
            if array.min() < -1 or array.max() >= self.cfg["d_vocab"]:
                raise Error(f"expected targets from -1 to {self.cfg['d_vocab'] - 1}")
            following[...] = array
        # As in training runs: the tokens of a prefix see each other, so all but the last of them predict nothing.
        following[:, :max(0, self.cfg["prefix"] - 1)] = -1
        if (following == -1).all():
            raise Error(f"no position of the {ids.size} has a target: expected at least two tokens, or a target that is not -1"
                        + (f", after the prefix of {self.cfg['prefix']} tokens" if self.cfg["prefix"] > 1 else ""))
        return ids, following

    def activation_names(self) -> list[str]:
        """The full names of all activations, in the order of the forward pass."""
        return self._core.activation_names()

    def parameter_names(self) -> list[str]:
        """The names of all parameters, such as "blocks.0.attention.qkv.weight"."""
        return self._core.parameter_names()

    def parameter(self, name: str) -> np.ndarray:
        """A parameter, without a copy: ``train_step`` changes the array, so ``.copy()`` what is to stay. A matrix that
        stays in its file (GGUF, safetensors) is decoded to float32, and one in bfloat16 is converted to it: copies."""
        return self._core.parameter(name)

    def _run(self, given: Input, read: set[str], hooks: dict[str, list[Hook]]) -> tuple[np.ndarray, dict]:
        ids = self._ids(given)
        self._require_memory(read, *ids.shape)
        logits, activations = self._core.forward(ids, read, set(hooks), _replace(hooks) if hooks else None)
        return (logits if np.ndim(given) == 2 else logits[0]), activations

    def _run_backward(self, argument: str, given: Input, return_type: ReturnType, read: set[str], hooks: dict[str, list[Hook]],
                      backward: dict[str, list[Hook]]) -> tuple[float, dict]:
        """A pass and its backward pass, which keeps `read` with their gradients, or calls the hooks of gradients."""
        if return_type not in ("loss", None):
            raise Error(f'{argument} needs the gradient of the loss: give return_type="loss" or None, got {return_type!r}')
        known = self.activation_names()
        last = max(hooks, key=known.index, default=known[0])
        for name in read | set(backward):
            if known.index(name) < known.index(last):
                raise Error(f"the gradient of {name} passes through the hook of {last}, whose derivative is not known: choose "
                            "activations from there on")
        ids, following = self._ids_and_targets(given, None)
        of_pass = [name for name in known if not name.endswith(("pattern", "attn_scores"))]  # about what the tape keeps
        self._require_memory([*read, *read, *of_pass], *ids.shape)
        replaced = hooks | {name + GRAD: functions for name, functions in backward.items()}
        kept = read | {name + GRAD for name in read}
        return self._core.loss(ids, following, kept, set(replaced), _replace(replaced) if replaced else None, False)

    @staticmethod
    def _require_return_type(return_type: Any) -> None:
        if return_type not in ("logits", "loss", "both", None):
            raise Error(f"return_type must be 'logits', 'loss', 'both' or None, got {return_type!r}")

    def _returned(self, given: Input, logits: np.ndarray, return_type: ReturnType) -> Any:
        if return_type not in ("loss", "both"):
            return None if return_type is None else logits
        loss = _cross_entropy(logits, self._ids_and_targets(given, None)[1])
        return loss if return_type == "loss" else (logits, loss)

    def _require_memory(self, names: Iterable[str], batch: int, positions: int) -> None:
        """Refuses logits and activations that do not fit, since Linux would end the process instead."""
        c, positions = self.cfg, positions + self.cfg["extra_tokens"]
        heads, keys = c["n_heads"], c["n_key_value_heads"]
        row = {"pattern": heads * (positions + 1), "attn_scores": heads * (positions + 1),
               "post": c["d_mlp"] * max(1, c["num_experts"]),
               "q": heads * c["d_head"], "rot_q": heads * c["d_head"], "z": heads * c["d_head"],
               "k": keys * c["d_head"], "rot_k": keys * c["d_head"], "v": keys * c["d_head"]}
        of_position = c["d_vocab"] + sum(row.get(name.rpartition("hook_")[2], c["d_model"]) for name in names)
        needed = self._core.item_size * batch * positions * of_position
        available = _available_memory()
        if needed > available:
            _core.release_cached_memory()  # of activations of before, which the engine keeps for the next ones
            available = _available_memory()
        if needed > available:
            raise MemoryError(f"the logits and activations take {needed / 1e9:.1f} GB, and {available / 1e9:.1f} GB are "
                              "available: choose some with names=, or give fewer tokens")

    def _cache(self, activations: dict[str, np.ndarray]) -> ActivationCache:
        pre_norm = "placement=PreNorm" in self._core.policies.split()
        return ActivationCache(activations, self.cfg["n_layers"], pre_norm, self.cfg)

    def _chosen(self, names: Names) -> set[str]:
        known = self.activation_names()
        if names is None:
            return {name for name in known if not name.endswith("attn_scores")}
        if callable(names):
            return {name for name in known if names(name)}
        if isinstance(names, (str, tuple)):
            names = [names]
        if not isinstance(names, Iterable):
            raise Error(f"expected the names of activations, got {names!r}")
        return {name for key in names for name in self._expanded(key, known)}

    def _expanded(self, key: Key, known: list[str]) -> list[str]:
        """The full names of a key; a short name without a layer stands for all layers."""
        layers = self.cfg["n_layers"]
        if isinstance(key, tuple) and len(key) > 1:
            if not isinstance(key[1], (int, np.integer)):
                raise Error(f"an activation is named by a text or (text, layer), got {key!r}: give several names as a list")
            if not -layers <= key[1] < layers:
                raise Error(f"the model has layers 0 to {layers - 1}, got {key[1]}")
            key = (key[0], key[1] % layers, *key[2:])
        name = full_name(key)
        if name.endswith(GRAD):
            raise Error(f"{key!r} names a gradient: give the name of its activation, and incl_bwd=True or bwd_hooks")
        if name in known or (isinstance(key, tuple) and len(key) > 1):
            return [name]
        try:
            names = [full_name((name, layer)) for layer in range(layers)]
            return [one for one in names if one in known] or names  # some layers may have no attention
        except Error:
            raise Error(f"there is no activation {name!r}: model.activation_names() lists them") from None

    def _hooks(self, argument: str, given: Hooks) -> dict[str, list[Hook]]:
        hooks: dict[str, list[Hook]] = {}
        for names, function in _pairs(argument, given):
            for name in self._chosen(names):
                hooks.setdefault(name, []).append(function)
        return hooks


def _pairs(argument: str, given: Any) -> list[tuple[Names, Hook]]:
    expected = f"{argument} is a list of pairs of a name and a function, such as [(\"pattern\", hook)]"
    if isinstance(given, (str, bytes, dict)) or not isinstance(given, Iterable):
        raise Error(f"{expected}, got {given!r}")
    pairs = list(given)
    if isinstance(given, tuple) and len(pairs) == 2 and callable(pairs[1]) and not isinstance(pairs[0], (tuple, list)):
        raise Error(f"{expected}, got one pair: put it into a list")
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise Error(f"{expected}, got {pair!r} in it")
        if not callable(pair[1]):
            raise Error(f"{expected}, got {pair[1]!r} instead of a function")
    return pairs


def _available_memory() -> float:
    """Bytes; infinite where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return float("inf")


def _cross_entropy(logits: np.ndarray, targets: np.ndarray) -> float:
    """The mean in double of -ln softmax over the targets that are not -1. Row by row, since logits can be large."""
    losses = []
    for row, target in zip(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)):
        if target != -1:
            shifted = row.astype(np.float64) - row.max()
            losses.append(np.log(np.exp(shifted).sum()) - shifted[target])
    return float(np.mean(losses))


def _replace(hooks: dict[str, list[Hook]]) -> Callable[[np.ndarray, str], np.ndarray | None]:
    """One function for the engine, in its layout and types."""

    def function(engine_array: np.ndarray, name: str) -> np.ndarray | None:
        swap = heads_first(name)
        array, plain = np.swapaxes(engine_array, 1, 2) if swap else engine_array, name.removesuffix(GRAD)
        for hook in hooks[name]:
            returned = hook(array, plain)
            if returned is None:
                continue
            if not engine_array.flags.writeable:
                raise Error(f"the gradient of {plain} can be read, but not replaced: its hook must return None")
            returned = array_of(f"None or floats of shape {array.shape} from the hook of {plain}", returned)
            if returned.shape != array.shape or returned.dtype.kind not in "fiu":
                raise Error(f"the hook of {plain} returned {returned.dtype} of shape {returned.shape}: "
                            f"expected None or floats of shape {array.shape}")
            array = returned
        if not engine_array.flags.writeable:
            return None
        return np.ascontiguousarray(np.swapaxes(array, 1, 2) if swap else array, dtype=engine_array.dtype)

    return function
