// All ablations: each struct line makes the programs train_<name> and eval_<name>.
//
// Ablations of the paper have the id of their experiment in tools/study/paper.json, with _ for - . and /
// (`build/release/ablations` lists them with the results of the paper). Numeric options (heads, window, prefix,
// learning rate ...) are flags of the program instead.
#pragma once

#include "engine/ops/attention/op/attention_ops.h"
#include "model/attention/constants.h"
#include "model/extra/extra_key.h"
#include "model/extra/sink_token.h"
#include "model/extra/value_bias.h"
#include "model/features/feature_map.h"
#include "model/feed_forward/experts.h"
#include "model/feed_forward/feed_forward.h"
#include "model/gate/affine_gate.h"
#include "model/gate/exclusive_gate.h"
#include "model/gate/output_gate.h"
#include "model/heads/join_heads.h"
#include "model/linear_bias/linear_bias.h"
#include "model/mixer/mixers.h"
#include "model/norm/gated_norm.h"
#include "model/norm/norms.h"
#include "model/placement/placements.h"
#include "model/position/alibi_position.h"
#include "model/position/learned_position.h"
#include "model/position/offset_position.h"
#include "model/position/relative_position.h"
#include "model/position/rotary_position.h"
#include "model/position/sinusoidal_position.h"
#include "model/query_key_norm/norm_queries_keys.h"
#include "model/query_key_norm/scale_queries.h"
#include "model/spec.h"
#include "model/unembedding/unembedding.h"

namespace sink::ablations {

// The default model of Gu et al. 2025.
struct baseline {
  using Position = Rotary;
  using Placement = PreNorm;
  using Norm = RmsNorm;
  using FeedForward = SwiGlu;
  using Heads = ConcatHeads;
  using QueryKeyNorm = NoQueryKeyNorm;
  using Mixer = AttentionMixer;
  using Features = IdentityFeatures;
  using Attention = Softmax;
  using Extra = NoExtra;
  using Gate = NoGate;
  using LinearBias = NoLinearBias;
  using Unembedding = OwnUnembedding;
};

// One ablation, one line.
// clang-format off

// Where order enters (section 7.1).
struct pos_nope : baseline { using Position = NoPosition; };
struct pos_absolute : baseline { using Position = Sinusoidal; };
struct pos_learnable : baseline { using Position = Learned; };
struct pos_relative : baseline { using Position = BucketIndex; };
struct pos_alibi : baseline { using Position = Alibi; };
struct pos_t5 : baseline { using Position = T5Relative; };

// Norms (section 7.2), feed-forward (Table 11), heads (Table 12).
struct norm_post : baseline { using Placement = PostNorm; };
struct norm_sandwich : baseline { using Placement = SandwichNorm; };
struct norm_layer : baseline { using Norm = LayerNorm; };
struct ffn_relu : baseline { using FeedForward = ReluFeedForward; };
struct ffn_gelu : baseline { using FeedForward = GeluFeedForward; };
struct ffn_swish : baseline { using FeedForward = SwishFeedForward; };
struct ffn_reglu : baseline { using FeedForward = ReGlu; };
struct ffn_geglu : baseline { using FeedForward = GeGlu; };
struct head_add : baseline { using Heads = AddHeads; };

// Extra tokens, keys and values: a sink token, a key with or without a value, a value only (section 7.3, Table 4).
template <Scope kScope> using KeyBias = ExtraKey<LearnedKey<kScope>, ZeroValue>;
template <Scope kScope> using KeyValueBias = ExtraKey<LearnedKey<kScope>, LearnedValue<kScope>>;
struct bias_sinktoken : baseline { using Extra = SinkToken; };
struct bias_kv : baseline { using Extra = KeyValueBias<Scope::per_head>; };
struct bias_k : baseline { using Extra = KeyBias<Scope::per_head>; };
struct bias_v : baseline { using Extra = ValueBias<Scope::per_head>; };
struct bias_kv_shared : baseline { using Extra = KeyValueBias<Scope::shared>; };
struct bias_k_shared : baseline { using Extra = KeyBias<Scope::shared>; };
struct bias_v_shared : baseline { using Extra = ValueBias<Scope::shared>; };

// K biases whose value is fixed: m e_1, or m / sqrt(D) everywhere (Table 5).
template <Direction kDirection, int kNorm> using KeyBiasFixed = ExtraKey<LearnedKey<Scope::per_head>, FixedValue<kDirection, kNorm>>;
struct bias_k_v1e1 : baseline { using Extra = KeyBiasFixed<Direction::first_axis, 1>; };
struct bias_k_v5e1 : baseline { using Extra = KeyBiasFixed<Direction::first_axis, 5>; };
struct bias_k_v20e1 : baseline { using Extra = KeyBiasFixed<Direction::first_axis, 20>; };
struct bias_k_v1u : baseline { using Extra = KeyBiasFixed<Direction::all_axes, 1>; };
struct bias_k_v5u : baseline { using Extra = KeyBiasFixed<Direction::all_axes, 5>; };
struct bias_k_v20u : baseline { using Extra = KeyBiasFixed<Direction::all_axes, 20>; };

// K biases of which only the first elements are learned (Table 13).
template <int kDimensions> using KeyBiasOf = ExtraKey<LearnedKey<Scope::per_head, kDimensions>, ZeroValue>;
struct bias_k_d1 : baseline { using Extra = KeyBiasOf<1>; };
struct bias_k_d2 : baseline { using Extra = KeyBiasOf<2>; };
struct bias_k_d4 : baseline { using Extra = KeyBiasOf<4>; };
struct bias_k_d8 : baseline { using Extra = KeyBiasOf<8>; };
struct bias_k_d16 : baseline { using Extra = KeyBiasOf<16>; };
struct bias_k_d32 : baseline { using Extra = KeyBiasOf<32>; };
struct bias_k_d64 : baseline { using Extra = KeyBiasOf<64>; };

// Attention operations (section 7.4): weights that need not sum to one, and scores of feature maps.
struct op_sigmoid_none : baseline { using Attention = Sigmoid; };
struct op_sigmoid_norm : baseline { using Attention = SigmoidNorm; };
struct op_elu_none : baseline { using Attention = Elu; };
struct op_elu_norm : baseline { using Attention = EluNorm; };
struct kern_elu_norm : baseline { using Features = EluFeatures; using Attention = LinearNorm; };
struct kern_elu_none : baseline { using Features = EluFeatures; using Attention = Linear; };
struct kern_id_norm : baseline { using Attention = LinearMaxAbs; };
struct kern_id_none : baseline { using Attention = Linear; };
struct kern_mlp_norm : baseline { using Features = MlpFeatures; using Attention = LinearMaxAbs; };
struct kern_mlp_none : baseline { using Features = MlpFeatures; using Attention = Linear; };

// Rows of softmax that sum to alpha (Table 14), and rows whose p-th powers sum to one (appendix D.4).
struct scale_2 : baseline { using Attention = With<ScaledSoftmax, 2.0>; };
struct scale_0_2 : baseline { using Attention = With<ScaledSoftmax, 0.2>; };
struct scale_0_1 : baseline { using Attention = With<ScaledSoftmax, 0.1>; };
struct scale_0_05 : baseline { using Attention = With<ScaledSoftmax, 0.05>; };
struct pnorm_exp_2 : baseline { using Attention = With<PNormExp, 2.0>; };
struct pnorm_exp_3 : baseline { using Attention = With<PNormExp, 3.0>; };
struct pnorm_exp_4 : baseline { using Attention = With<PNormExp, 4.0>; };
struct pnorm_exp_1_2 : baseline { using Attention = With<PNormExp, 1.0 / 2>; };
struct pnorm_exp_1_3 : baseline { using Attention = With<PNormExp, 1.0 / 3>; };
struct pnorm_exp_1_4 : baseline { using Attention = With<PNormExp, 1.0 / 4>; };
struct pnorm_sig_1 : baseline { using Attention = With<PNormSigmoid, 1.0>; };
struct pnorm_sig_2 : baseline { using Attention = With<PNormSigmoid, 2.0>; };
struct pnorm_sig_3 : baseline { using Attention = With<PNormSigmoid, 3.0>; };
struct pnorm_sig_4 : baseline { using Attention = With<PNormSigmoid, 4.0>; };

// Beyond the paper.
struct op_relu : baseline { using Attention = Relu; };                                        // Guo et al. 2024
struct op_relu_n : baseline { using Attention = ReluN; };                                     // Wortsman et al. 2023
struct op_sigmoid_logn : baseline { using Attention = SigmoidLogN; };                         // Ramapuram et al. 2024
struct op_softmax1 : baseline { using Extra = ExtraKey<ZeroLogit, ZeroValue>; };              // Miller 2023
struct op_sink_logit : baseline { using Extra = ExtraKey<LearnedLogit, ZeroValue>; };         // gpt-oss 2025
struct op_softpick : baseline { using Attention = Softpick; };                                // Zuhri et al. 2025
struct op_clipped : baseline { using Attention = ClippedSoftmax; };                           // Bondarenko et al. 2023
struct op_sparsemax : baseline { using Attention = Sparsemax; };                              // Martins and Astudillo 2016
struct op_entmax15 : baseline { using Attention = Entmax15; };                                // Peters et al. 2019
struct qk_norm : baseline { using QueryKeyNorm = RmsQueryKeyNorm; };                          // Henry et al. 2020
struct gate_head : baseline { using Gate = HeadGate; };                                       // Qiu et al. 2025
struct gate_element : baseline { using Gate = ElementGate; };
struct gate_truncated : baseline { using Gate = TruncatedGate; };                             // modded-nanogpt 2025
struct gate_swish : baseline { using Gate = SwishGate; };
struct gate_value : baseline { using Gate = ValueGate; };                                     // Qiu et al. 2025
struct gate_affine : baseline { using Gate = AffineGate; };                                   // Bae et al. 2026
struct gate_xsa : baseline { using Gate = ExclusiveGate; };                                   // arXiv 2603.09078
struct op_consmax : baseline { using Position = OffsetRotary; using Attention = ConSmax; };   // Liu et al. 2024
struct op_ssmax : baseline { using QueryKeyNorm = LogCountScale; };                           // Nakanishi 2025
struct op_sink_logit_windowed : baseline { using Extra = ExtraKey<WindowedLogit, ZeroValue>; };  // MiMo-V2 2026
struct norm_gated : baseline { using Norm = GatedRmsNorm; };                                  // arXiv 2601.22966

// A learned sink in the other operations whose rows sum to one.
struct op_sigmoid_norm_sink_logit : op_sigmoid_norm { using Extra = ExtraKey<LearnedLogit, ZeroValue>; };
struct op_sparsemax_sink_logit : op_sparsemax { using Extra = ExtraKey<LearnedLogit, ZeroValue>; };
struct op_entmax15_sink_logit : op_entmax15 { using Extra = ExtraKey<LearnedLogit, ZeroValue>; };

// For the quickstart: the synthetic task was studied with learned positions.
struct pos_learnable_sigmoid : pos_learnable { using Attention = Sigmoid; };
struct pos_learnable_relu : pos_learnable { using Attention = Relu; };

// Families of open models (section 3). Epsilons, bases and windows are sizes; model/open/ reads their files.
struct gpt2 : baseline { using Position = Learned; using Norm = LayerNorm; using FeedForward = GeluTanhFeedForward; using LinearBias = AllLinearBias; using Unembedding = TiedUnembedding; };
struct opt : gpt2 { using FeedForward = ReluFeedForward; };
struct gpt_neox : baseline { using Placement = ParallelResidual; using Norm = LayerNorm; using FeedForward = GeluFeedForward; using LinearBias = AllLinearBias; };
struct falcon : gpt_neox { using LinearBias = NoLinearBias; };
struct llama : baseline {};  // LLaMA 2, Mistral, SmolLM, Granite, Phi-3, ERNIE 4.5
struct llama3 : llama { using Position = Llama3Rotary; };
struct qwen2 : llama { using LinearBias = QkvLinearBias; };  // Qwen 2, Seed-OSS, GLM 4
struct qwen3 : llama { using QueryKeyNorm = RmsQueryKeyNorm; };
struct qwen3_5 : qwen3 { using Gate = ElementGate; using Mixer = DeltaNetMixer; };
struct gemma2 : llama { using Placement = SandwichNorm; using FeedForward = GeGluTanh; using Attention = With<SoftCappedSoftmax, 50.0>; using Unembedding = SoftCappedUnembedding; };
struct gemma3 : qwen3 { using Placement = SandwichNorm; using FeedForward = GeGluTanh; };
struct olmo2 : llama { using Placement = OutputNorm; using QueryKeyNorm = RmsNormOfAllHeads; };
struct mixtral : llama { using FeedForward = SwiGluExperts; };  // Mixtral, Granite with experts
struct qwen3_moe : qwen3 { using FeedForward = SwiGluExperts; };
struct qwen2_moe : qwen2 { using FeedForward = WithSharedExpert<SwiGluExpertsOfSoftmax>; };
struct olmoe : llama { using QueryKeyNorm = RmsNormOfAllHeads; using FeedForward = SwiGluExpertsOfSoftmax; };
struct gemma : llama { using FeedForward = GeGluTanh; };
struct starcoder2 : gpt2 { using Position = Rotary; using Unembedding = OwnUnembedding; };
struct olmo : llama { using Norm = LayerNorm; };
struct stablelm : qwen2 { using Norm = LayerNorm; };
struct nemotron : olmo { using FeedForward = ReluSquaredFeedForward; };
struct cohere : llama { using Placement = ParallelResidual; using Norm = LayerNorm; };
struct glm4 : qwen2 { using Placement = SandwichNorm; };
struct exaone4 : qwen3 { using Position = Llama3Rotary; using Placement = OutputNorm; };
struct gpt_oss : op_sink_logit { using Position = YarnRotary; using FeedForward = Experts; using LinearBias = AllLinearBias; };

// clang-format on

}  // namespace sink::ablations
