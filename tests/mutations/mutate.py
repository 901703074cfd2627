#!/usr/bin/env python3
"""Breaks every policy on purpose, one line each, and checks that the golden values of the models that have it catch it; each call
that guards files and processes against faults, which tests/faults and tests of processes catch; and formulas of training and
measuring, which tests of theirs catch.

Mutations that touch different models are made together and built once, in two rounds: each must fail every case of its own models, and
no case of a model that has no mutation may fail. Each has a case that no other mutation of its round breaks. What all models share
(rotary, softmax, pre-norm ...) is broken one mutation at a time, in a copy that builds and tests the baseline only.

  mutate.py                 all rounds; an hour on two cores; the list as Markdown on stdout
  mutate.py --round NAME    one of them: policies, more_policies, the name of a policy that is broken alone, faults or formulas
  mutate.py --list          the mutations
  mutate.py --check         whether each text that is to be broken stands in its file, once, and each test exists; a second

Needs git, CMake, Ninja and what the project's build needs. Works in a temporary copy; the checkout is left alone.
"""
import argparse
import fnmatch
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OPS = "engine/ops/"
OP = OPS + "attention/op/"

# (what is broken, file, old text, new text, cases that must fail: names or patterns of golden cases)
POLICIES = [
    ("ScaledSoftmax: alpha divides", OP + "scaled_softmax.h", "return S / alpha;", "return S * alpha;", ["scale_*"]),
    ("PNormExp: sums e^x, not e^(px)", OP + "p_norm_exp.h", "return exp_fast(p * x);", "return exp_fast(x);", ["pnorm_exp_*"]),
    ("PNormSigmoid: gradient of its sum without p", OP + "p_norm_sigmoid.h", "return R(p) * r(x) * (R(1) - logistic_fast(x));",
     "return r(x) * (R(1) - logistic_fast(x));", ["pnorm_sig_2", "pnorm_sig_3", "pnorm_sig_4"]),
    ("Sigmoid: derivative without 1 - g", "engine/dual.h", "y * (R(1) - y) * x.slope", "y * x.slope",
     ["op_sigmoid_none*", "op_sigmoid_norm*", "pos_learnable_sigmoid", "pnorm_sig_1"]),
    ("SigmoidLogN: no log n", OP + "sigmoid_log_n.h", "return log(n);", "return 0 * n;", ["op_sigmoid_logn"]),
    ("ConSmax: without gamma", OP + "con_smax.h", "log_divisor(beta + std::log(gamma))", "log_divisor(beta)", ["op_consmax*"]),
    ("Elu: without the 1", OP + "elu.h", "return (x < R(0) ? R(0) : x) + exp_fast(x > R(0) ? R(0) : x);",
     "return (x < R(0) ? R(0) : x) + exp_fast(x > R(0) ? R(0) : x) - R(1);", ["op_elu_none", "op_elu_norm"]),
    ("Relu: derivative 1 everywhere", OP + "relu.h", "return x > R(0) ? R(1) : R(0);", "return x > R(0) ? R(1) : R(1);",
     ["op_relu", "pos_learnable_relu", "op_sparsemax*"]),
    ("Entmax15: not squared", OP + "entmax15.h", "return half * half;", "return half;", ["op_entmax15*"]),
    ("ReluN: n + 1", OP + "relu_n.h", "return n; }", "return n + 1; }", ["op_relu_n"]),
    ("Linear: without its sign", OP + "linear.h", "{ return x; }", "{ return x < 0 ? -x : x; }",
     ["kern_id_none", "kern_mlp_none"]),
    ("LinearMaxAbs: no gradient through its sum", OP + "linear_max_abs.h", "copysign(R(1), S) : R(0);", "R(0) : R(0);",
     ["kern_id_norm", "kern_mlp_norm"]),
    ("Softpick: the sum without its absolute value", OP + "softpick.h", "return abs(exp_fast(x) - u);",
     "return exp_fast(x) - u;", ["op_softpick*"]),
    ("ClippedSoftmax: gradient where it is clipped", OP + "clipped_softmax.h", "? R(stretch) : R(0);", "? R(stretch) : R(stretch);",
     ["op_clipped*"]),
    ("EluFeatures: relu instead", "model/features/feature_map.h", "activate<EluPlusOneFunction>", "activate<ReluFunction>",
     ["kern_elu_*"]),
    ("Alibi: far keys favoured", "model/position/alibi_position.h", "return -slopes", "return +slopes", ["pos_alibi*"]),
    ("BucketIndex: bias with a minus", "model/position/relative_position.h", "{ return relative_bucket(distance); }",
     "{ return -relative_bucket(distance); }", ["pos_relative"]),
    ("T5Relative: one table for all heads", "model/position/relative_position.h",
     "return h * kBuckets + relative_bucket(distance);", "return 0 * h + relative_bucket(distance);", ["pos_t5*"]),
    ("Sinusoidal: cosines before sines", "model/position/sinusoidal_position.h", "? std::sin(angle) : std::cos(angle)",
     "? std::cos(angle) : std::sin(angle)", ["pos_absolute"]),
    ("Learned: positions forgotten", "model/position/learned_position.h", "return add_rows(x_BTC, table_TC_.var());",
     "return x_BTC;", ["pos_learnable"]),
    ("PostNorm: norms the branch alone", "model/placement/placements.h", "return y_BTC;", "return add(u_BTC, y_BTC);", ["norm_post"]),
    ("SandwichNorm: no second norm", "model/placement/placements.h",
     "feed_forward.post_norm(convert(feed_forward(h_BTC, ctx), residual))",
     "convert(feed_forward(h_BTC, ctx), residual)", ["norm_sandwich", "gemma2", "gemma3"]),
    ("RmsNormOfAllHeads: queries as they were", "model/query_key_norm/norm_queries_keys.h",
     "return normed(q_BHTD, query_gain_);", "return q_BHTD;", ["olmo2"]),
    ("SwiGluUnit: the gate without its sigmoid", OPS + "expert_glu/expert_glu_math.h", "return g * l * u; }", "return g * u; }", ["mixtral"]),
    ("no_rope_every: counted from the first block", "model/sizes.h", "(layer + 1) % no_rope_every != 0;",
     "layer % no_rope_every != 0;", ["baseline-norope2"]),
    ("LayerNorm: mean not subtracted", OPS + "norm/norm_ref.cpp", "mean += x_c / static_cast<double>(C);",
     "mean += 0 * x_c;", ["norm_layer", "gpt2", "opt", "gpt_neox", "falcon"]),
    ("ReluFeedForward: GeLU", "model/feed_forward/feed_forward.h", "using ReluFeedForward = PlainFeedForward<ReluFunction",
     "using ReluFeedForward = PlainFeedForward<GeluFunction", ["ffn_relu", "opt"]),
    ("GeluFunction: logistic instead of erf", OPS + "activation/activation_math.h", "return x * Phi(x);",
     "return x * logistic_fast(R(1.702) * x);", ["ffn_gelu", "ffn_geglu", "gpt_neox"]),
    ("SwishFeedForward: ReLU", "model/feed_forward/feed_forward.h", "using SwishFeedForward = PlainFeedForward<SiluFunction",
     "using SwishFeedForward = PlainFeedForward<ReluFunction", ["ffn_swish"]),
    ("ReGlu: SiLU", "model/feed_forward/feed_forward.h", "using ReGlu = GatedFeedForward<ReluFunction",
     "using ReGlu = GatedFeedForward<SiluFunction", ["ffn_reglu"]),
    ("AddHeads: the first head left out", OPS + "heads/heads_ref.cpp", "for (std::int64_t h = 0; h < H; ++h) sum +=",
     "for (std::int64_t h = 1; h < H; ++h) sum +=", ["head_add"]),
    ("SinkToken: the last position dropped", OPS + "prepend/prepend_ref.cpp", "= x[b * (1 + T) * C + C + i];",
     "= x[b * (1 + T) * C + i];", ["bias_sinktoken"]),
    ("HeadVectors: a shared vector, one number on", "model/extra/head_vectors.h", "? 0 : h) * width + d : -1;",
     "? 0 : h) * width + (scope == Scope::shared ? (d + 1) % width : d) : -1;", ["bias_*_shared"]),
    ("LearnedKey: without gradient", "model/extra/extra_key.h", "void add_to(ExtraKeyVars& extra) const { extra.k_HD = vectors_(); }",
     "void add_to(ExtraKeyVars& extra) const { extra.k_HD = Var(vectors_().value()); }", ["bias_kv*", "bias_k", "bias_k_*"]),
    ("ZeroLogit: 1", "model/extra/extra_key.h", "Tensor::zeros({make.sizes().heads}, make.real(), make.device())",
     "Tensor::full({make.sizes().heads}, 1, make.real(), make.device())", ["op_softmax1"]),
    ("LearnedLogit: without gradient", "model/extra/extra_key.h", "extra.logit_H = logit_H_.var();",
     "extra.logit_H = Var(logit_H_.master());", ["op_*sink_logit", "gpt_oss"]),
    ("ValueBias: added twice", "model/extra/value_bias.h", "return add_head_vector(o_BHTD, vectors_());",
     "return add_head_vector(add_head_vector(o_BHTD, vectors_()), vectors_());", ["bias_v"]),
    ("RmsQueryKeyNorm: keys with the queries' gain", "model/query_key_norm/norm_queries_keys.h",
     "rms_norm(convert(k_BGTD, real_), key_gain_, compute_, epsilon_)",
     "rms_norm(convert(k_BGTD, real_), query_gain_, compute_, epsilon_)",
     ["qk_norm*", "qwen3", "qwen3_5", "gemma3"]),
    ("gates: without the derivative of the logistic", OPS + "gate/gate_function.h", "return dl * l * (1 - l);", "return dl * l;",
     ["gate_head", "gate_element", "qwen3_5", "gate_truncated*", "gate_value*", "gate_affine*"]),
    ("SwishGate: derivative of its function", OPS + "gate/gate_function.h", "return dl * SiluFunction::df(g);",
     "return dl * SiluFunction::f(g);", ["gate_swish*", "qwen3_5"]),
    ("window: one key too many", "engine/key_range.h", "std::max<Int>(0, i - window + 1)",
     "std::max<Int>(0, i - window)", ["*-window*", "gemma2", "gemma3", "gpt_oss"]),
    ("prefix: without its first key", "engine/key_range.h", "for (Int j = 0; j < prefix_end; ++j) f(j);",
     "for (Int j = 1; j < prefix_end; ++j) f(j);", ["*-prefix3"]),
]

# Those that share models with one above.
MORE_POLICIES = [
    ("OutputNorm: the feed-forward block's output not normed", "model/placement/placements.h",
     "feed_forward.post_norm(convert(feed_forward(u_BTC, ctx), residual))", "convert(feed_forward(u_BTC, ctx), residual)", ["olmo2"]),
    ("ParallelResidual: the feed-forward block after attention", "model/placement/placements.h",
     "feed_forward(feed_forward.norm(x_BTC), ctx)", "feed_forward(feed_forward.norm(u_BTC), ctx)", ["gpt_neox", "falcon"]),
    ("GeluTanhFunction: without the cube", OPS + "activation/activation_math.h",
     "return kRoot2OverPi<R> * (x + kCubic<R> * x * x * x);", "return kRoot2OverPi<R> * x;", ["gpt2", "gemma2", "gemma3"]),
    ("Llama3Rotary: slow below two turns", "model/position/scaled_inv_freq.h", "constexpr double kLlama3Slow = 1,",
     "constexpr double kLlama3Slow = 2,", ["llama3"]),
    ("Rotary: the factor squared", "model/position/rotary_position.h", "f /= sizes.rotary_factor;",
     "f /= sizes.rotary_factor * sizes.rotary_factor;", ["llama"]),
    ("linear bias: added twice", "model/layer/linear_layer.h", "return bias ? add_bias(y, *bias) : y;",
     "return bias ? add_bias(add_bias(y, *bias), *bias) : y;", ["gpt2", "opt", "gpt_neox", "qwen2", "gpt_oss"]),
    ("DividedBySum: no gradient through the sum", OP + "attention_op.h", "return S + decltype(S)(kSumEpsilon); }",
     "return S + decltype(S)(kSumEpsilon); }\n  SINK_HD static auto dz(auto S) { return decltype(S)(0); }",
     ["op_sigmoid_norm*", "op_elu_norm", "kern_elu_norm"]),
    ("HeadVectors: low-dimensional keys backwards", "model/extra/head_vectors.h", "? 0 : h) * width + d : -1;",
     "? 0 : h) * width + (learned > 0 ? width - 1 - d : d) : -1;",
     ["bias_k_d2", "bias_k_d4", "bias_k_d8", "bias_k_d16", "bias_k_d32", "bias_k_d64"]),
    ("LearnedValue: without gradient", "model/extra/extra_key.h",
     "  void add_to(ExtraKeyVars& extra) const { extra.v_HD = vectors_(); }",
     "  void add_to(ExtraKeyVars& extra) const { extra.v_HD = Var(vectors_().value()); }", ["bias_kv*"]),
    ("FixedValue: along the second axis, or half as long", "model/extra/extra_key.h",
     "1 / std::sqrt(static_cast<double>(D)) : d == 0)", "0.5 / std::sqrt(static_cast<double>(D)) : d == 1)",
     ["bias_k_v*"]),
    ("MlpFeatures: without ReLU", "model/features/feature_map.h", "linear(activate<ReluFunction>(linear(x_BHTD, up_)), down_)",
     "linear(linear(x_BHTD, up_), down_)", ["kern_mlp_*"]),
    ("Relu: squared", OP + "relu.h", "return x < R(0) ? R(0) : x;\n  }\n  template <class R>\n  SINK_HD static R dg(R x) {\n"
     "    return x > R(0) ? R(1) : R(0);", "return x < R(0) ? R(0) : x * x;\n  }\n  template <class R>\n"
     "  SINK_HD static R dg(R x) {\n    return x > R(0) ? R(2) * x : R(0);", ["op_relu", "op_relu_n", "pos_learnable_relu",
                                                                             "op_sparsemax*"]),
    ("a threshold: the mean of da by weight, not by g'", OPS + "attention/op/attention_row.h",
     "return dg(x);\n    } else {\n      return w;", "return w;\n    } else {\n      return w;", ["op_entmax15*"]),
    ("relative_bucket: one long bucket fewer", "model/position/relative_position.h", "if (distance < 16) return distance;",
     "if (distance < 4) return distance;\n  if (distance < 16) return distance - 1;", ["pos_relative", "pos_t5*"]),
    ("ScaledSoftmax: derivative of its sum", OP + "scaled_softmax.h", "return S / alpha; }",
     "return S / alpha; }\n  SINK_HD auto dz(auto S) const { return decltype(S)(1); }", ["scale_*"]),
    ("PNormExp: the root forgotten", OP + "p_norm_exp.h", "return pow(S, R(root));", "return S;", ["pnorm_exp_*"]),
    ("OffsetRotary: the constants of the first layer in all", "model/position/offset_position.h", "return l * H + h;", "return 0 * l + h;",
     ["op_consmax*"]),
    ("LogCountScale: the count of the keys before", "model/query_key_norm/scale_queries.h", "static_cast<double>(t + 1)",
     "static_cast<double>(t + 2)", ["op_ssmax*"]),
    ("ExclusiveGate: half of the part along the value", "model/gate/exclusive_gate.h", "1.0 / static_cast<double>(ones_D_.size())",
     "0.5 / static_cast<double>(ones_D_.size())", ["gate_xsa*"]),
    ("WindowedLogit: in blocks without a window, too", "model/extra/extra_key.h", "kNever = -1e4", "kNever = 0", ["op_sink_logit_windowed"]),
    ("GatedRmsNorm: without silu", "model/norm/gated_norm.h", "activate<SiluFunction>(linear(convert(n, compute_), down_))",
     "linear(convert(n, compute_), down_)", ["norm_gated"]),
    ("TruncatedGate: one element further", "model/gate/output_gate.h", "column < read ? static_cast<std::int32_t>(row * read + column)",
     "column > 0 && column <= read ? static_cast<std::int32_t>(row * read + column - 1)", ["gate_truncated*"]),
    ("ValueGate: with silu", "model/gate/output_gate.h", "gate(merge_heads(v_BGTD), linear(h_BTC, weight_))",
     "gate(merge_heads(v_BGTD), linear(h_BTC, weight_), GateFunction::silu)", ["gate_value*"]),
    ("AffineGate: the mean of the values not subtracted", "model/gate/affine_gate.h",
     "gate(add(o_BTE, activate<NegateFunction>(mean_BTE)), scale_BTH)", "gate(o_BTE, scale_BTH)", ["gate_affine*"]),
    ("DeltaNet: rates of decay from keys, beta from decays", "model/layer/delta_net_layer.h",
     "linear(h_BTC, a_), linear(h_BTC, b_)", "linear(h_BTC, b_), linear(h_BTC, a_)", ["qwen3_5"]),
    ("Softpick: weights without the 1", OP + "softpick.h", "R above = exp_fast(x) - u;", "R above = exp_fast(x) + R(0) * u;", ["op_softpick*"]),
]

# Policies that every model has, each with the baseline alone; and those of one model, named at the end, that others above break too.
ALONE = {
    "rotary": ("Rotary: queries turned, keys not", "model/layer/positioned_heads.h",
               "return {q_BHTD, k_BGTD, gated_values(gate, v_BGTD, h_BTC)};",
               "return {q_BHTD, split_heads(qkv_BTE, sizes.heads, sizes.key_heads()).k_BGTD, v_BGTD};"),
    "softmax": ("Softmax: derivative of the sum left out", OP + "attention_op.h", "auto z(auto S) { return S; }\n",
                "auto z(auto S) { return S; }\n  SINK_HD static auto dz(auto S) { return decltype(S)(0); }\n"),
    "scale": ("scores: 1/D instead of 1/sqrt(D)", "model/sizes.h", "1 / std::sqrt(static_cast<double>(width_of_head()))",
              "1 / static_cast<double>(width_of_head())"),
    "causal": ("mask: a query sees the key after it", "engine/key_range.h", "j <= i; ++j) f(j);",
               "j <= std::min(i + 1, T - 1); ++j) f(j);"),
    "pre_norm": ("PreNorm: the norm forgotten", "model/placement/placements.h", "return {u_BTC, feed_forward(h_BTC, ctx)};", "return {u_BTC, feed_forward(u_BTC, ctx)};"),
    "swiglu": ("SwiGlu: ReLU", "model/feed_forward/feed_forward.h", "using SwiGlu = GatedFeedForward<SiluFunction",
               "using SwiGlu = GatedFeedForward<ReluFunction"),
    "rms_norm": ("norms: epsilon 1e-6", "model/sizes.h", "norm_epsilon : 1e-5;", "norm_epsilon : 1e-6;"),
    "concat": ("heads: the row of the head after it", OPS + "heads/heads_ref.cpp", "rows[j] = heads[i];",
               "rows[j] = heads[(i + heads_BHTD.dim(2) * heads_BHTD.dim(3)) % heads_BHTD.size()];"),
    "soft_capped_scores": ("SoftCappedSoftmax: scores as they are", OP + "soft_capped_softmax.h",
                           "return exp_fast(R(cap) * tanh_fast(R(inverse_cap) * x));", "return exp_fast(x);", "gemma2"),
    "soft_cap": ("SoftCap: no slope", OPS + "activation/activation_math.h", "return 1 - t * t;", "return 1 - 0 * t;", "gemma2"),
}

# What a power loss, a failing disk or a killed parent needs: (what is broken, file, old text, new text, test that must fail).
FILE = "engine/io/file.cpp"
FAULTS_OF = "python3 -B tests/faults/run_faults.py --build build/release --only "
LIFE = "python3 -B tests/simulation/simulate.py --build build/release --seed "
FAULTS = [
    ("OutputFile: the file is not flushed", FILE, 'if (::fsync(descriptor_) != 0) fail_io("flush", path_, errno);', "",
     FAULTS_OF + "init"),
    ("OutputFile: the folder is not flushed after the rename", FILE, "temporary_path_.clear();\n  sync_folder(final_path_);",
     "temporary_path_.clear();", FAULTS_OF + "init"),
    ("OutputFile: a rename that fails is not noticed", FILE, 'if (::rename(temporary_path_.c_str(), final_path_.c_str()) != 0) '
     'fail_io("replace", path_, errno);', "(void)!::rename(temporary_path_.c_str(), final_path_.c_str());", FAULTS_OF + "init"),
    ("write_all: a short write is taken for a whole one", FILE, "bytes -= static_cast<std::size_t>(written);", "bytes = 0;",
     FAULTS_OF + "init"),
    ("make_folders: names of new folders are not flushed", FILE,
     "    sync_folder(missing.back().string());\n", "", FAULTS_OF + "prepare_new"),
    ("export: the folder that holds the new one is not flushed", "model/open/hf_export.cpp", "sync_folder(path_);", "",
     FAULTS_OF + "export"),
    ("RunLog: the log is not flushed", "train/run_log.cpp", 'if (::fsync(descriptor_) != 0) fail_io("flush", path_, errno);', "",
     FAULTS_OF + "train"),
    ("train: the log's last line is not flushed", "train/trainer.cpp", "  log.sync();  //", "  //", FAULTS_OF + "train"),
    ("train: a step is logged before its birth checkpoint", "train/trainer.cpp",
     "observers.insert(observers.end(), {&report, &checkpoint});", "observers.insert(observers.begin(), {&report, &checkpoint});",
     FAULTS_OF + "train"),
    ("train --force: the older run goes before the new checkpoint is there", "train/trainer.cpp",
     'save_run(folder ? folder->checkpoint() : "", run);\n    if (folder) folder->drop_older_run();',
     'if (folder) folder->drop_older_run();\n    save_run(folder ? folder->checkpoint() : "", run);', FAULTS_OF + "train_force"),
    ("train --force: the older run's new names are not flushed", "train/run_folder.cpp", 'sync_folder(to + "/config.toml");', "",
     FAULTS_OF + "train_force"),
    ("BirthCheckpoints: a removal is not flushed", "train/birth_checkpoints.cpp", "  sync_folder(path);\n", "", FAULTS_OF + "train"),
    ("--replay-check: gradients are not compared", "train/replay_check.cpp", "if (differing == 0) return \"\";",
     "return \"\";", "build/release/tests/replay_check_test"),
    ("--replay-check: other bits do not stop the run", "train/replay_check.cpp",
     "if (!difference) return;", "return;", "build/release/tests/replay_check_test"),
    ("--replay-check: no rank checks another", "train/replay_check.cpp",
     "alike ? (ranks.rank() + 1) % ranks.size() : ranks.rank()", "ranks.rank()",
     "build/release/tests/replay_check_test"),
    ("sweep: tables that cannot be written are no error", "tools/sweep/study_tables.cpp", "else if (status != 0)", "else if (false)", FAULTS_OF + "sweep"),
    ("sweep: an optimizer state that a killed sweep left is not removed", "tools/sweep/study_jobs.cpp",
     "lacks_interventions(state, run) || keeps_optimizer_state(state, run)", "lacks_interventions(state, run)", FAULTS_OF + "sweep"),
    ("sweep: a run outlives a killed sweep", "tools/sweep/worker_processes.cpp", "prctl(PR_SET_PDEATHSIG, SIGTERM);", "",
     "build/release/tests/sweep_test --test-case=*that?is?killed*"),
    ("sweep --retry: a run that another sweep completed meanwhile is trained again", "tools/sweep/study_jobs.cpp",
     "if (!config.force || now.status == RunStatus::failed) return;", "return;",
     "build/release/tests/sweep_test --test-case=*while?--retry?waits*"),
    ("make_folders: the name of a folder of a killed program is not flushed", FILE, "sync_folder(folder.string());", ";", LIFE + "21"),
    ("readers: the checksum is not compared", "engine/io/checksum_header.cpp",
     "if (header_text(format, static_cast<int>(version), digest.hex(), found_bytes) != header)", "if (false)", LIFE + "4"),
    ("save_checkpoint: the file is not read back", "engine/io/checkpoint.cpp",
     "    if (!file.temporary().empty()) verify_checksum(kCheckpointFormat, file.temporary());\n", "",
     "build/release/tests/false_disk_test"),
    ("prepare: the token file is not compared with the tokens", "engine/data/token_writer.cpp",
     "  require_in_file(temporary, path_, expected);\n", "", "build/release/tests/disk_errors_test"),
    ("prepare: its temporary files are not compared", "engine/data/token_writer.cpp",
     "if (digest_of(spool.file, 0, bytes, path_).hex() != spool.written.hex())", "if (false)",
     "build/release/tests/disk_errors_test"),
    ("sweep: the optimizer state goes before the evaluation is read", "tools/sweep/study_jobs.cpp",
     "        result_of_run(of.config.run);  //", "        //", LIFE + "100002"),
    ("sweep: a run begins after its sweep was killed", "tools/sweep/worker_processes.cpp", "if (getppid() != parent) _exit(1);",
     "", "build/release/tests/sweep_test --test-case=*that?is?killed*"),
    ("--nproc: mpirun outlives its killed parent", "engine/comm/mpirun.cpp", "::prctl(PR_SET_PDEATHSIG, SIGTERM);", "",
     "build/release/tests/rank_faults_test --test-case=*with?the?parent*"),
    ("--nproc: mpirun begins after its parent was killed", "engine/comm/mpirun.cpp",
     "if (::getppid() != parent) ::_exit(128 + SIGTERM);", "", "build/release/tests/rank_faults_test --test-case=*no?rank?begins*"),
    ("report_of_child: the child outlives its killed parent", "engine/io/child_report.cpp", "::prctl(PR_SET_PDEATHSIG, SIGKILL);",
     "", "build/release/tests/child_report_test"),
]

# Formulas of steps, optimizers, losses and measures: as in FAULTS.
TESTS = "build/release/tests/"
FORMULAS = [
    ("a step: micro-batches weighed alike, whatever their targets", "train/training_run.cpp",
     "static_cast<double>(batch.predicted()) / static_cast<double>(targets())",
     "1.0 / static_cast<double>(inputs_.predicted.size())", TESTS + "training_run_test"),
    ("a step: the update is counted from 2", "train/training_run.cpp", "make_step_scalars(learning_rate, state_.updates + 1)",
     "make_step_scalars(learning_rate, state_.updates + 2)", TESTS + "transformer_golden_test --test-case=golden?training*"),
    ("warm-up: one step late", "train/schedule.cpp", "return config.learning_rate * position / warmup;",
     "return config.learning_rate * (position - 1) / warmup;", TESTS + "schedule_test"),
    ("clipping: not divided by the norm", OPS + "optimizer/update_math.h", "? clip / (norm + 1e-6) : 1.0", "? clip : 1.0",
     TESTS + "optimizer_golden_test"),
    ("AdamW: no bias correction of the mean", OPS + "optimizer/adamw.h", "step.learning_rate / (1 - std::pow(s.beta1, step.update))",
     "step.learning_rate", TESTS + "optimizer_golden_test"),
    ("Lion: the mean with beta1", OPS + "optimizer/lion.h", "m = k.beta2 * m + k.one_minus_beta2 * g;", "m = c;",
     TESTS + "update_test"),
    ("AdamW: one weight decay for all groups", "train/optimizers/element_wise_optimizer.h",
     "settings.weight_decay = range.weight_decay;", "", TESTS + "decay_groups_test"),
    ("Muon: scaled by the smaller dimension", "train/optimizers/muon_optimizer.cpp", "std::max(m.dim(0), m.dim(1))",
     "std::min(m.dim(0), m.dim(1))", TESTS + "optimizer_golden_test"),
    ("OrthoAdam: the step is not rotated back", "train/optimizers/orthoadam_optimizer.cpp", "rotation.rotate_back(step)", "step",
     TESTS + "optimizer_golden_test"),
    ("cross_entropy: gradient without the target's 1", OPS + "cross_entropy/cross_entropy_ref.cpp",
     "if (target >= 0) logits_V[static_cast<std::size_t>(target)] -= gradient_scale;", "", TESTS + "cross_entropy_test"),
    ("a bounded cache: rows move up from one row too early", "model/key_value_cache.cpp",
     "copy_cached_rows(x_BGKD->clone(), end, length_, *x_BGKD, begin)",
     "copy_cached_rows(x_BGKD->clone(), end - 1, length_ - 1, *x_BGKD, begin)", TESTS + "bounded_cache_test"),
    ("a bounded cache: first keys seen from one position too far", "model/layer/positioned_heads.h",
     "positions_of_next(B, T, kept - 1)", "positions_of_next(B, T, kept)", TESTS + "bounded_cache_test"),
    ("a rounded cache: keys by token", "model/cache_rounding.cpp", "scheme == Scheme::kivi && d < D", "false",
     TESTS + "cache_rounding_test"),
    ("a rounded cache: first tokens not exact", "model/cache_rounding.cpp", "position < keep_first || ", "",
     TESTS + "cache_rounding_test"),
    ("heavy hitters: one more recent token", "eval/generate/token_reader.cpp", "drop_lightest(eviction_.window - 1)",
     "drop_lightest(eviction_.window)", TESTS + "bounded_cache_test"),
    ("rms_norm: gradient without that of the root mean square", OPS + "norm/norm_ref.cpp",
     " - (x_C[c] - mean) * r * (layer ? 1 : r) * projection", "", TESTS + "norm_test"),
    ("Sink: epsilon itself counts", "eval/sink/sink_score.h", "(alpha > epsilon ? 1 : 0)",
     "(alpha >= epsilon ? 1 : 0)", TESTS + "sink_score_test"),
    ("alpha: divided by the rows of the whole document", "eval/sink/sink_score.cpp",
     "rows[static_cast<std::size_t>(extra_tokens + k)]", "static_cast<double>(T_ - k)", TESTS + "sink_score_test"),
    ("alpha: divided by the rows that a window leaves out, too", "eval/sink/even_attention.cpp",
     "std::min(positions, range.last(column) + 1)", "positions", TESTS + "sink_score_test"),
    ("alpha of an extra key: without its own row", "eval/sink/sink_score.h",
     "return (1 + column_sum) /", "return column_sum /",
     TESTS + "sink_score_test"),
]
PROGRAM = re.compile(TESTS + r"(\w+)")
TOGETHER = {"policies": POLICIES, "more_policies": MORE_POLICIES}
BY_TESTS = {"faults": FAULTS, "formulas": FORMULAS}


def copy_checkout(folder):
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True,
                           capture_output=True).stdout.decode().split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def mutate(folder, name, old, new):
    text = (folder / name).read_text()
    if text.count(old) != 1:
        sys.exit(f"mutate.py: error: {name} has {text.count(old)} times `{old}`, expected once: update the list")
    (folder / name).write_text(text.replace(old, new))


def cases_of(patterns, cases):
    return {case for case in cases for pattern in patterns if fnmatch.fnmatch(case, pattern)}


def without_own_case(mutations, cases):
    """Those of a round whose cases are all cases of others, too: these fail whether or not the mutation is caught."""
    broken = [cases_of(patterns, cases) for *_, patterns in mutations]
    return [mutation[0] for i, mutation in enumerate(mutations)
            if not broken[i].difference(*broken[:i], *broken[i + 1:])]


def stale():
    """Mutations whose text is not in its file, or more than once; whose test is not there; or that no case shows."""
    found = 0
    for what, *_, test in [*FAULTS, *FORMULAS]:
        for program in PROGRAM.findall(test):
            if not list((ROOT / "tests").rglob(f"{program}.cpp")):
                print(f"mutate.py: {what}: there is no {program}.cpp in tests/: update the list")
                found += 1
    for mutations in TOGETHER.values():
        for what in without_own_case(mutations, names_of_cases(ROOT)):
            print(f"mutate.py: {what}: each of its cases also has another mutation of the round, which fails it; expected a case that no "
                  "other mutation breaks: move it to another round")
            found += 1
    for what, path, old, *_ in [*POLICIES, *MORE_POLICIES, *ALONE.values(), *FAULTS, *FORMULAS]:
        count = (ROOT / path).read_text().count(old)
        if count != 1:
            print(f"mutate.py: {what}: {path} has {count} times `{old}`, expected once: update the list")
            found += 1
    return found


def failed_cases(folder, *more_flags):
    """The golden cases that fail in double, by the name that opens every message."""
    build = folder / "build"
    flags = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DSINK_PROGRAMS=none",
             "-DSINK_JOIN_TESTS=OFF", *more_flags]
    for command in (["cmake", "-S", str(folder), "-B", str(build), "-G", "Ninja", *flags],
                    ["ninja", "-C", str(build), "transformer_golden_test"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"mutate.py: error: {' '.join(command[:1])} failed:\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
    run = subprocess.run([build / "tests/transformer_golden_test", "--test-case=golden model: logits*double*"], cwd=folder,
                         capture_output=True, text=True)
    if "[doctest] Status" not in run.stdout:
        sys.exit(f"mutate.py: error: the test did not end (exit code {run.returncode}):\n{run.stdout[-2000:]}")
    return set(re.findall(r"(?:logged|ERROR): ([a-z0-9_-]+): ", run.stdout))


def names_of_cases(folder):
    data = (folder / "tests/golden/model/cases.safetensors").read_bytes()
    tensors = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    return {name.split("/")[0] for name in tensors["__metadata__"]}


def round_of_policies(mutations):
    with tempfile.TemporaryDirectory(prefix="sinklab-mutate-") as name:
        folder = pathlib.Path(name)
        copy_checkout(folder)
        for _, path, old, new, _ in mutations:
            mutate(folder, path, old, new)
        failed = failed_cases(folder)
        cases, rows, expected = names_of_cases(folder), [], set()
        for what, path, _, _, patterns in mutations:
            mine = cases_of(patterns, cases)
            if patterns and not mine:
                sys.exit(f"mutate.py: error: no case is named like {patterns}")
            expected |= mine
            rows.append((what, path, sorted(mine), sorted(mine - failed)))
        broken = {case.split("-")[0] for case in expected}  # ablations; all their cases may fail
        others = {case for case in cases if case.split("-")[0] not in broken}
        touched = failed & others
        rows.append(("(nothing else)", "", sorted(others), []))
        return rows, touched


def round_of_one(name):
    what, path, old, new, *case = ALONE[name]
    case = case[0] if case else "baseline"
    with tempfile.TemporaryDirectory(prefix="sinklab-mutate-") as name:
        folder = pathlib.Path(name)
        copy_checkout(folder)
        mutate(folder, path, old, new)
        failed = failed_cases(folder, f"-DSINK_ABLATION_SET={case}")
        return [(what, path, [case], [] if case in failed else [case])], set()


def targets_of(tests):
    """What the commands of tests run: their programs, and for scripts and tests of processes the programs of a user."""
    targets = sorted({program for test in tests for program in PROGRAM.findall(test)})
    if any(test.startswith("python3 ") for test in tests):
        targets += ["fault_shim", "train_baseline", "train_pos_learnable", "eval_baseline", "prepare", "report", "sweep"]
    return targets


def round_of_tests(mutations):
    """Each alone, in one copy: few sources are compiled again. Every test passes before and fails with its mutation."""
    targets = targets_of([test for *_, test in mutations])
    rows = []
    with tempfile.TemporaryDirectory(prefix="sinklab-mutate-") as name:
        folder = pathlib.Path(name)
        copy_checkout(folder)

        def passes(test):
            for command in (["cmake", "--preset", "release", "-DSINK_JOIN_TESTS=OFF", "-DSINK_PROGRAMS=baseline;pos_learnable",
                             "-DSINK_ABLATION_SET=baseline;op_sigmoid_none;pos_learnable"],
                            ["ninja", "-C", "build/release", *targets]):
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"mutate.py: error: {' '.join(command[:1])} failed:\n{done.stdout[-3000:]}{done.stderr[-2000:]}")
            return subprocess.run(test.split(), cwd=folder, capture_output=True).returncode == 0

        for test in sorted({test for *_, test in mutations}):
            if not passes(test):
                sys.exit(f"mutate.py: error: {test} fails without a mutation")
        for what, path, old, new, test in mutations:
            original = (folder / path).read_text()
            mutate(folder, path, old, new)
            rows.append((what, path, [test.replace("python3 -B ", "").replace(" --build build/release", "")], [test] if passes(test) else []))
            (folder / path).write_text(original)
            print(f"mutate.py: {what}: {'missed' if rows[-1][3] else 'caught'}", file=sys.stderr, flush=True)
    return rows, set()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rounds = [*TOGETHER, *ALONE, *BY_TESTS]
    parser.add_argument("--round", choices=rounds, help="one round only")
    parser.add_argument("--list", action="store_true", help="print the mutations and leave")
    parser.add_argument("--check", action="store_true", help="see whether the list is current and leave")
    options = parser.parse_args()
    if options.check:
        return 1 if stale() else 0
    if options.list:
        for what, path, *_ in [*POLICIES, *MORE_POLICIES, *ALONE.values(), *FAULTS, *FORMULAS]:
            print(f"{what}  ({path})")
        return 0
    missed = 0
    print("| broken on purpose | in | cases that must fail | missed |\n|---|---|---|---|")
    for name in [options.round] if options.round else rounds:
        rows, touched = (round_of_tests(BY_TESTS[name]) if name in BY_TESTS else
                         round_of_policies(TOGETHER[name]) if name in TOGETHER else round_of_one(name))
        for what, path, cases, survivors in rows:
            shown = ", ".join(cases[:4]) + (f" and {len(cases) - 4} more" if len(cases) > 4 else "")
            print(f"| {what} | `{path}` | {shown} | {', '.join(survivors) or 'none'} |" if path else
                  f"| nothing | | none of the {len(cases)} others | {', '.join(sorted(touched)) or 'none'} |", flush=True)
            missed += len(survivors)
        missed += len(touched)
    print(f"\n{'every mutation was caught' if not missed else f'{missed} cases missed'}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
