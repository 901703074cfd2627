// What the study trained and found: from its sections 4 to 7 and appendices, and from its released code.
#include "tools/study/study.h"

namespace sink {

const std::vector<StudyRow>& study_rows() {
  // clang-format off
  // id, ablation, settings, Sink_1, Sink_*, validation loss, meaning, note, preset
  static const std::vector<StudyRow> rows{
    // The default model, and its optimiser (sections 4 and C of the study's appendix).
    {"base-60m", "baseline", "", "18.18", "", "3.73", "default: rotary, pre-norm RMSNorm, SwiGLU, 8 heads, softmax"},
    {"opt-lr8e4-10k", "baseline", "--learning-rate 8e-4 --steps 10000", "23.44", "", "3.79", "learning rate 8e-4, 10k steps"},
    {"opt-lr8e4-20k", "baseline", "--learning-rate 8e-4", "32.23", "", "3.70", "learning rate 8e-4, 20k steps"},
    {"opt-lr2e4-20k", "baseline", "--learning-rate 2e-4", "11.21", "", "3.78", "learning rate 2e-4, 20k steps"},
    {"opt-lr2e4-40k", "baseline", "--learning-rate 2e-4 --steps 40000", "16.81", "", "3.68", "learning rate 2e-4, 40k steps"},
    {"opt-lr1e4-20k", "baseline", "--learning-rate 1e-4", "2.90", "", "3.92", "learning rate 1e-4, 20k steps"},
    {"opt-lr1e4-80k", "baseline", "--learning-rate 1e-4 --steps 80000", "6.29", "", "3.67", "learning rate 1e-4, 80k steps"},
    {"opt-lr1e3-20k", "baseline", "--learning-rate 1e-3", "n.r.", "", "n.r.", "learning rate 1e-3, 20k steps"},
    {"opt-lr1e4-40k", "baseline", "--learning-rate 1e-4 --steps 40000", "n.r.", "", "n.r.", "learning rate 1e-4, 40k steps"},
    {"opt-lr1e5-80k", "baseline", "--learning-rate 1e-5 --steps 80000", "n.r.", "", "n.r.", "learning rate 1e-5, 80k steps"},
    {"opt-bs128", "baseline", "--accumulate 8", "16.45", "", "3.92", "128 sequences per step, 0.25M tokens"},
    {"opt-bs256", "baseline", "--accumulate 16", "17.19", "", "3.78", "256 sequences per step, 0.5M tokens"},
    {"opt-bs1024", "baseline", "--accumulate 64", "16.19", "", "3.68", "1024 sequences per step, 2M tokens"},
    {"opt-wd0", "baseline", "--weight-decay 0", "15.20", "", "3.72", "weight decay 0"},
    {"opt-wd1e-3", "baseline", "--weight-decay 0.001", "15.39", "", "3.72", "weight decay 0.001"},
    {"opt-wd1e-2", "baseline", "--weight-decay 0.01", "15.23", "", "3.72", "weight decay 0.01"},
    {"opt-wd0.5", "baseline", "--weight-decay 0.5", "41.08", "", "3.80", "weight decay 0.5"},
    {"opt-wd1", "baseline", "--weight-decay 1", "37.71", "", "3.90", "weight decay 1"},
    {"opt-wd2", "baseline", "--weight-decay 2", "6.13", "", "4.23", "weight decay 2"},
    {"opt-wd5", "baseline", "--weight-decay 5", "0.01", "", "5.24", "weight decay 5"},
    {"opt-wd10", "baseline", "--weight-decay 10", "n.r.", "", "n.r.", "weight decay 10"},
    // Data (section 5).
    {"data-2.5b", "baseline", "--data-fraction 0.5", "n.r.", "", "n.r.", "2.5 billion tokens of text, seen more often"},
    {"data-500m", "baseline", "--data-fraction 0.1", "n.r.", "", "n.r.", "500 million tokens of text, seen more often", "a figure shows about 4"},
    {"data-200m", "baseline", "--data-fraction 0.04", "n.r.", "", "n.r.", "200 million tokens of text, seen more often"},
    {"data-100m", "baseline", "--data-fraction 0.02", "<1", "", "n.r.", "100 million tokens of text, seen more often"},
    {"data-50m", "baseline", "--data-fraction 0.01", "<1", "", "n.r.", "50 million tokens of text, seen more often"},
    {"data-rand1", "baseline", "--random-from 1 --random-to 1", "27.03", "", "n.r.", "first token random"},
    {"data-rand12", "baseline", "--random-from 1 --random-to 2", "1.98", "", "n.r.", "first two tokens random", "Sink_2 14.08"},
    {"data-rand2", "baseline", "--random-from 2 --random-to 2", "20.99", "", "n.r.", "second token random"},
    {"data-randN", "baseline", "--random-from 1 --random-to 3", "n.r.", "", "n.r.", "first three tokens random", "and so on: of more, the sink disappears"},
    {"data-fix1", "baseline", "--fixed-token 1", "74.11", "", "n.r.", "first token always the padding token", "Sink_4 0.01"},
    {"data-fix2", "baseline", "--fixed-token 1 --fixed-position 2", "0.00", "", "n.r.", "second token always the padding token", "Sink_2 69.03, Sink_4 0.01"},
    {"data-fix3", "baseline", "--fixed-token 1 --fixed-position 3", "0.00", "", "n.r.", "third token always the padding token", "Sink_3 69.64"},
    // Masks (section 6).
    {"loss-prefix2", "baseline", "--prefix 2 --prefix-validation study", "n.r.", "", "n.r.", "the first 2 tokens are seen by all, the loss starts behind them"},
    {"loss-prefix3", "baseline", "--prefix 3 --prefix-validation study", "n.r.", "", "n.r.", "the first 3 tokens are seen by all, the loss starts behind them"},
    {"loss-prefix4", "baseline", "--prefix 4 --prefix-validation study", "n.r.", "", "n.r.", "the first 4 tokens are seen by all, the loss starts behind them"},
    {"loss-prefix5", "baseline", "--prefix 5 --prefix-validation study", "n.r.", "", "n.r.", "the first 5 tokens are seen by all, the loss starts behind them", "one prefix token a sample has the sink, 18.75 to 23.75 each"},
    {"loss-prefix10", "baseline", "--prefix 10 --prefix-validation study", "n.r.", "", "n.r.", "the first 10 tokens are seen by all, the loss starts behind them"},
    {"mask-win32", "baseline", "--window 32", "n.r.", "", "n.r.", "each token sees 32 tokens, itself included", "a figure shows next to no sink"},
    {"mask-win64", "baseline", "--window 64", "n.r.", "", "n.r.", "each token sees 64 tokens, itself included", "a figure shows next to no sink"},
    {"mask-win128", "baseline", "--window 128", "n.r.", "", "n.r.", "each token sees 128 tokens, itself included", "a figure shows next to no sink"},
    {"mask-win256", "baseline", "--window 256", "n.r.", "", "n.r.", "each token sees 256 tokens, itself included", "a figure shows a sink"},
    {"mask-win512", "baseline", "--window 512", "n.r.", "", "n.r.", "each token sees 512 tokens, itself included", "a figure shows a sink"},
    {"mask-win1024", "baseline", "--window 1024", "n.r.", "", "n.r.", "each token sees 1024 tokens, itself included", "a figure shows a sink"},
    // Positions (section 7.1).
    {"pos-nope", "pos_nope", "", "20.35", "", "3.81", "no positions"},
    {"pos-absolute", "pos_absolute", "", "32.73", "", "3.74", "sines and cosines added to the embedding"},
    {"pos-learnable", "pos_learnable", "", "33.13", "", "3.79", "a learned vector a position added to the embedding"},
    {"pos-relative", "pos_relative", "", "35.53", "", "5.45", "bias of a score: the index of its distance's bucket, as released"},
    {"pos-alibi", "pos_alibi", "", "20.78", "", "3.71", "bias of a score: minus slope times distance"},
    // Norms, feed-forward, heads (section 7.2, Tables 11 and 12).
    {"norm-post", "norm_post", "", "13.54", "", "n.r.", "norms behind the sublayers, in the residual stream"},
    {"ffn-relu", "ffn_relu", "", "16.90", "", "3.82", "feed-forward: two matrices and ReLU"},
    {"ffn-gelu", "ffn_gelu", "", "14.76", "", "3.79", "feed-forward: two matrices and GeLU (erf)"},
    {"ffn-swish", "ffn_swish", "", "17.89", "", "3.80", "feed-forward: two matrices and Swish"},
    {"ffn-reglu", "ffn_reglu", "", "13.88", "", "3.75", "feed-forward: gate of ReLU"},
    {"ffn-geglu", "ffn_geglu", "", "17.86", "", "3.73", "feed-forward: gate of GeLU"},
    {"head-4", "baseline", "--heads 4", "10.68", "", "3.74", "4 heads of 192"},
    {"head-2", "baseline", "--heads 2", "12.95", "", "3.76", "2 heads of 384"},
    {"head-1", "baseline", "--heads 1", "19.50", "", "3.78", "1 head of 768"},
    {"head-add", "head_add", "", "21.76", "", "3.74", "heads are added, then projected, instead of joined"},
    // Somewhere else to put attention (section 7.3, Tables 4, 5, 12 and 13).
    {"bias-sinktoken", "bias_sinktoken", "", "0.00", "74.12", "3.72", "a learned token before every sequence"},
    {"bias-kv", "bias_kv", "", "0.04", "72.76", "3.72", "a learned key and value per head"},
    {"bias-k", "bias_k", "", "0.00", "73.34", "3.72", "a learned key per head, its value zero"},
    {"bias-v", "bias_v", "", "17.53", "", "3.73", "a learned value per head, added to every output"},
    {"bias-kv-shared", "bias_kv_shared", "", "12.44", "56.61", "3.72", "one learned key and value for all heads of a layer"},
    {"bias-k-shared", "bias_k_shared", "", "0.23", "68.31", "3.72", "one learned key for all heads of a layer, its value zero"},
    {"bias-v-shared", "bias_v_shared", "", "n.r.", "", "n.r.", "one learned value for all heads of a layer"},
    {"bias-k-v1e1", "bias_k_v1e1", "", "0.06", "70.03", "3.72", "a learned key per head, its value e_1"},
    {"bias-k-v5e1", "bias_k_v5e1", "", "3.71", "44.43", "3.72", "a learned key per head, its value 5 e_1"},
    {"bias-k-v20e1", "bias_k_v20e1", "", "25.88", "1.51", "3.71", "a learned key per head, its value 20 e_1"},
    {"bias-k-v1u", "bias_k_v1u", "", "2.15", "69.74", "3.72", "a learned key per head, its value 1 / sqrt(D) everywhere"},
    {"bias-k-v5u", "bias_k_v5u", "", "5.93", "27.99", "3.72", "a learned key per head, its value 5 / sqrt(D) everywhere"},
    {"bias-k-v20u", "bias_k_v20u", "", "11.21", "0.00", "3.73", "a learned key per head, its value 20 / sqrt(D) everywhere"},
    {"bias-k-d1", "bias_k_d1", "", "4.74", "32.18", "3.73", "K bias of which 1 of 96 numbers is learned"},
    {"bias-k-d2", "bias_k_d2", "", "4.96", "30.88", "3.72", "K bias of which 2 of 96 numbers are learned"},
    {"bias-k-d4", "bias_k_d4", "", "4.39", "30.94", "3.72", "K bias of which 4 of 96 numbers are learned"},
    {"bias-k-d8", "bias_k_d8", "", "4.54", "31.39", "3.73", "K bias of which 8 of 96 numbers are learned"},
    {"bias-k-d16", "bias_k_d16", "", "2.19", "23.30", "3.73", "K bias of which 16 of 96 numbers are learned"},
    {"bias-k-d32", "bias_k_d32", "", "1.94", "51.23", "3.73", "K bias of which 32 of 96 numbers are learned"},
    {"bias-k-d64", "bias_k_d64", "", "0.04", "69.19", "3.72", "K bias of which 64 of 96 numbers are learned"},
    // Attention operations (section 7.4, Tables 6 and 14, appendix D.4).
    {"op-sigmoid-none", "op_sigmoid_none", "", "0.44*", "", "3.70", "sigmoid of the score"},
    {"op-sigmoid-norm", "op_sigmoid_norm", "", "30.24", "", "3.74", "sigmoid of the score, rows scaled to sum to one"},
    {"op-elu-none", "op_elu_none", "", "0.80*", "", "3.69", "elu + 1 of the score"},
    {"op-elu-norm", "op_elu_norm", "", "failed", "", "failed", "elu + 1 of the score, rows scaled to sum to one"},
    {"kern-elu-norm", "kern_elu_norm", "", "53.65*", "", "4.19", "products of elu + 1 features, rows scaled to sum to one"},
    {"kern-elu-none", "kern_elu_none", "", "failed", "", "failed", "products of elu + 1 features"},
    {"kern-id-norm", "kern_id_norm", "", "failed", "", "failed", "the score itself, rows divided by max(|sum|, 1)"},
    {"kern-id-none", "kern_id_none", "", "0.00*", "", "3.99", "the score itself"},
    {"kern-mlp-norm", "kern_mlp_norm", "", "0.19*", "", "3.85", "products of learned features, rows divided by max(|sum|, 1)"},
    {"kern-mlp-none", "kern_mlp_none", "", "0.74*", "", "3.91", "products of learned features"},
    {"scale-2", "scale_2", "", "29.10", "", "3.72", "softmax times 2"},
    {"scale-0.2", "scale_0_2", "", "9.41", "", "3.72", "softmax times 0.2"},
    {"scale-0.1", "scale_0_1", "", "3.59", "", "3.76", "softmax times 0.1"},
    {"scale-0.05", "scale_0_05", "", "4.53", "", "3.78", "softmax times 0.05"},
    {"pnorm-exp-2", "pnorm_exp_2", "", "diverged", "", "inf", "exp over the 2-norm of the row"},
    {"pnorm-exp-3", "pnorm_exp_3", "", "diverged", "", "inf", "exp over the 3-norm of the row"},
    {"pnorm-exp-4", "pnorm_exp_4", "", "diverged", "", "inf", "exp over the 4-norm of the row"},
    {"pnorm-exp-1/2", "pnorm_exp_1_2", "", "n.r.", "", "n.r.", "exp over the 1/2-norm of the row"},
    {"pnorm-exp-1/3", "pnorm_exp_1_3", "", "n.r.", "", "n.r.", "exp over the 1/3-norm of the row"},
    {"pnorm-exp-1/4", "pnorm_exp_1_4", "", "n.r.", "", "n.r.", "exp over the 1/4-norm of the row"},
    {"pnorm-sig-2", "pnorm_sig_2", "", "n.r.", "", "n.r.", "sigmoid over the 2-norm of the row"},
    {"pnorm-sig-3", "pnorm_sig_3", "", "n.r.", "", "n.r.", "sigmoid over the 3-norm of the row"},
    {"pnorm-sig-4", "pnorm_sig_4", "", "n.r.", "", "n.r.", "sigmoid over the 4-norm of the row"},
    {"sig-wd0", "op_sigmoid_none", "--weight-decay 0", "0.64*", "", "3.77", "sigmoid with weight decay 0"},
    {"sig-wd0.5", "op_sigmoid_none", "--weight-decay 0.5", "0.18*", "", "3.76", "sigmoid with weight decay 0.5"},
    {"sig-wd1", "op_sigmoid_none", "--weight-decay 1", "0.30*", "", "4.06", "sigmoid with weight decay 1"},
    {"sig-lr1e-3", "op_sigmoid_none", "--learning-rate 1e-3", "0.81*", "", "3.68", "sigmoid with learning rate 1e-3"},
    {"sig-lr1e-4", "op_sigmoid_none", "--learning-rate 1e-4", "0.36*", "", "4.08", "sigmoid with learning rate 1e-4"},
    // Scale (section 7.4), and fine-tuning after it (appendix E).
    {"big-softmax", "baseline", "", "45.11", "", "3.07", "1.1 billion parameters", "", "1.1b"},
    {"big-sigmoid", "op_sigmoid_none", "", "2.46*", "", "3.10", "1.1 billion parameters, sigmoid", "", "1.1b"},
    {"sft-softmax", "baseline", "--initial runs/big-softmax/checkpoint.h5 --batch 4 --accumulate 16 --steps 2000 --learning-rate 2e-5 --schedule cosine --warmup 200 --beta2 0.999 --weight-decay 0", "n.r.", "", "n.r.", "big-softmax fine-tuned on chats", "training loss from about 2.6 to 1.8 - 2.0; --data is of prepare --chat", "1.1b"},
    {"sft-sigmoid", "op_sigmoid_none", "--initial runs/big-sigmoid/checkpoint.h5 --batch 4 --accumulate 16 --steps 2000 --learning-rate 2e-5 --schedule cosine --warmup 200 --beta2 0.999 --weight-decay 0", "n.r.", "", "n.r.", "big-sigmoid fine-tuned on chats", "training loss from about 2.6 to 1.8 - 2.0; --data is of prepare --chat", "1.1b"},
  };
  // clang-format on
  return rows;
}

std::string study_file_of(const StudyRow& row) {
  static const std::vector<std::pair<const char*, const char*>> by_id{
      {"base-", "every_ablation"},
      {"opt-lr", "learning_rate"},
      {"opt-bs", "batch"},
      {"opt-wd", "weight_decay"},
      {"data-rand", "data_distribution"},
      {"data-fix", "data_distribution"},
      {"data-", "data_amount"},
      {"loss-", "loss"},
      {"mask-", "window"},
      {"pos-", "position"},
      {"norm-", "norm"},
      {"ffn-", "feed_forward"},
      {"head-", "heads"},
      {"bias-", "biases"},
      {"op-", "operations"},
      {"kern-", "operations"},
      {"scale-", "scale"},
      {"pnorm-", "pnorm"},
      {"sig-", "sigmoid_robustness"},
      {"big-", "model_size"},
      {"sft-", "fine_tuning"},
  };
  for (const auto& [begin, name] : by_id)
    if (row.id.starts_with(begin)) return std::string("train/studies/") + name + ".toml";
  return "";
}

const std::vector<StudyRow>& beyond_the_study() {
  static const std::vector<StudyRow> rows = [] {
    std::vector<StudyRow> made;
    // clang-format off
    for (auto [ablation, meaning] : {
           std::pair{"pos_t5", "T5's relative positions: a learned bias a bucket and head (Raffel et al. 2020)"},
           std::pair{"norm_sandwich", "norms before and behind every sublayer (Ding et al. 2021)"},
           std::pair{"norm_layer", "LayerNorm, with mean and bias, instead of RMSNorm (Ba et al. 2016)"},
           std::pair{"pnorm_sig_1", "sigmoid over the 1-norm of the row: p = 1 of the study's figure 29, op_sigmoid_norm by another way"},
           std::pair{"op_relu", "ReLU of the score (Guo et al. 2024)"},
           std::pair{"op_relu_n", "ReLU of the score, divided by the number of keys seen (Wortsman et al. 2023)"},
           std::pair{"op_sigmoid_logn", "sigmoid of the score less log n (Ramapuram et al. 2024)"},
           std::pair{"op_softmax1", "softmax off by one: an extra score of zero without a value (Miller 2023)"},
           std::pair{"op_sink_logit", "an extra score a head, learned, without a value (gpt-oss 2025)"},
           std::pair{"op_softpick", "rectified softmax: relu(e^s - 1) over the sum of |e^s - 1| (Zuhri et al. 2025)"},
           std::pair{"op_clipped", "softmax stretched to [-0.03, 1] and clipped (Bondarenko et al. 2023)"},
           std::pair{"qk_norm", "RMSNorm of queries and keys (Henry et al. 2020)"},
           std::pair{"gate_head", "the output of each head times a sigmoid gate (Qiu et al. 2025)"},
           std::pair{"gate_element", "each number of the heads' outputs times a sigmoid gate (Qiu et al. 2025)"},
           std::pair{"pos_learnable_sigmoid", "learned positions and sigmoid: what the quickstart compares"},
           std::pair{"pos_learnable_relu", "learned positions and ReLU: what the quickstart compares"},
           std::pair{"gpt2", "a family of open models: GPT-2"},
           std::pair{"opt", "a family of open models: OPT"},
           std::pair{"gpt_neox", "a family of open models: GPT-NeoX and Pythia"},
           std::pair{"llama", "a family of open models: LLaMA 2, Mistral, SmolLM"},
           std::pair{"llama3", "a family of open models: LLaMA 3.1 and later"},
           std::pair{"qwen2", "a family of open models: Qwen 2"},
           std::pair{"qwen3", "a family of open models: Qwen 3"},
           std::pair{"gemma3", "a family of open models: Gemma 3"},
           std::pair{"gpt_oss", "a family of open models: gpt-oss"},
         })
      made.push_back({"", ablation, "", "", "", "", meaning});
    // clang-format on
    return made;
  }();
  return rows;
}

StudyRow study_row_of(const std::string& ablation) {
  for (const auto* rows : {&study_rows(), &beyond_the_study()})
    for (const StudyRow& row : *rows)
      if (row.ablation == ablation && row.settings.empty() && row.preset == "60m") return row;
  return {.id = "",
          .ablation = ablation,
          .settings = "",
          .sink_1 = "",
          .sink_star = "",
          .valid = "",
          .meaning = "not of the study, and without a line in tools/study/study.cpp"};
}

const std::vector<StudyPreset>& study_presets() {
  static const std::string optimiser =
      "--context 2048 --learning-rate 4e-4 --warmup 100 --schedule constant --beta1 0.9 --beta2 0.95 "
      "--adam-epsilon 1e-8 --weight-decay 0.1 --clip 1 --precision bf16";
  static const std::vector<StudyPreset> presets{
      {"60m",
       "--layers 10 --heads 8 --width 768 --feed-forward 1536 --batch 16 --accumulate 32 --steps 20000 " + optimiser,
       "59.0 million parameters besides embeddings; 512 sequences per step, 21 billion tokens"},
      {"1.1b",
       "--layers 22 --heads 16 --width 2048 --feed-forward 5632 --batch 4 --accumulate 128 --steps 40000 " + optimiser,
       "1.13 billion parameters besides embeddings; 512 sequences per step, 42 billion tokens"},
  };
  return presets;
}

std::string study_command(const StudyRow& row) {
  std::string command = "train_" + row.ablation;
  for (const StudyPreset& preset : study_presets())
    if (preset.name == row.preset) command += " " + preset.flags;
  return row.settings.empty() ? command : command + " " + row.settings;
}

}  // namespace sink
