"""lm-evaluation-harness for the models of eval_<name>: our checkpoints, and open models in their own formats.

  PYTHONPATH=tools/lm_eval python3 -c "import sinklab_lm, lm_eval; print(lm_eval.simple_evaluate(
      model='sinklab', model_args='program=build/release/eval_llama,path=MODEL.gguf', tasks=['sciq'])['results'])"

Tokens, truncation from the left and windows of long texts equal those of lm_eval's `hf`, with one difference: in
loglikelihood_rolling, `hf` puts the prefix token before the begin token of a tokenizer that writes one (LLaMA 2 and 3,
Mistral, Gemma) and scores that begin token, too; here it is the prefix and is not scored. The prefix token, before text
without context, is the model's begin-of-text token, or else its end-of-text token; `prefix_token=ID` sets another.
Other arguments are `threads=N` and lm_eval's `device`. Texts are read one at a time, whatever the batch size. Generation is
not supported.
"""
import json
import subprocess

from lm_eval.api.model import LM
from lm_eval.api.registry import register_model


@register_model("sinklab")
class Sinklab(LM):
    # lm_eval gives all models batch_size, max_batch_size and device.
    def __init__(self, program, path, prefix_token=None, threads=0, device=None, batch_size=None, max_batch_size=None):
        super().__init__()
        self.command = [program, "score", str(path), "-", "--threads", str(threads)]
        if prefix_token is not None:
            self.command += ["--prefix-token", str(prefix_token)]
        if device is not None:
            self.command += ["--device", str(device)]

    def scores(self, pairs):
        if not pairs:
            return []
        lines = "".join(json.dumps({"context": context, "continuation": continuation}) + "\n"
                        for context, continuation in pairs)
        made = subprocess.run(self.command, input=lines.encode(), stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in made.stdout.splitlines()]

    def loglikelihood(self, requests, **_):
        return [(line["logprob"], line["greedy"]) for line in self.scores([request.args for request in requests])]

    def loglikelihood_rolling(self, requests, **_):
        texts = [request.args[0] for request in requests]
        scored = iter(self.scores([("", text) for text in texts if text]))
        return [next(scored)["logprob"] if text else 0.0 for text in texts]

    def generate_until(self, requests, **_):
        raise NotImplementedError("sinklab scores continuations and does not generate them: choose tasks whose output_type is "
                                  "loglikelihood, loglikelihood_rolling or multiple_choice")
