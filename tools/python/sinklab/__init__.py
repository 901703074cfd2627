"""Attention sinks in language models.

    import sinklab

    model = sinklab.load("SmolLM2-135M-Instruct.Q4_1.gguf")
    logits, cache = model.run_with_cache("Hello")
    cache["pattern", 3]             # (batch, head, query, key), a NumPy array
    model.sink_scores("Hello")      # alpha_1 of every head, Sink_1

Activations have the names and shapes of TransformerLens. Arrays share the memory of the engine and are read-only.
Errors are sinklab.Error, a ValueError, or MemoryError.
"""

from sinklab import _processor  # noqa: F401, first: an ImportError where the engine could not run
from sinklab._core import Error, __version__
from sinklab.ablations import ablation, ablation_names
from sinklab.cache import ActivationCache
from sinklab.checkpoint import Checkpoint
from sinklab.data import BigramBackcopy
from sinklab.model import Model, Tokens, TrainStep, load, set_threads
from sinklab.run import Maps, Run
from sinklab.sink import SinkScores, sink_scores
from sinklab.sums import AttentionSums, attention_sums
from sinklab.texts import set_progress

__all__ = ["ActivationCache", "AttentionSums", "BigramBackcopy", "Checkpoint", "Error", "Maps", "Model", "Run", "SinkScores", "Tokens",
           "TrainStep", "__version__", "ablation", "ablation_names", "attention_sums", "load", "set_progress", "set_threads",
           "sink_scores"]
