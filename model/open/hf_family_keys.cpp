// The keys of config.json that each family has of its own, as its class in transformers 5 names and defaults them.
#include "model/open/hf_key_tables.h"

namespace sink {

namespace {

constexpr const char* kNoteLayers = "transformer blocks";
constexpr const char* kNoteHeads = "attention heads";
constexpr const char* kNoteKvHeads = "heads of keys and values; null: as many as attention heads";
constexpr const char* kNoteWidth = "elements of a token's vector";
constexpr const char* kNoteInner = "elements inside the feed-forward block";
constexpr const char* kNotePositions = "the context; of more than 65536 positions so many are used";
constexpr const char* kNoteVocabulary = "tokens";
constexpr const char* kNoteEpsilon = "of norms";
constexpr const char* kNoteTied = "whether the unembedding is the embedding";
constexpr const char* kNoteActivation = "of the feed-forward block";
constexpr const char* kNoteBiases = "biases of attention's projections";
constexpr const char* kNoteRope = "rotary positions, see below; both keys only with the same content";
constexpr const char* kNoteTheta = "base of rotary positions, where `rope_parameters` and `rope_scaling` have none";
constexpr const char* kNoteInterleaved = "elements e and e + D/2 of a head rotate together";
constexpr const char* kNotePart = "all elements of a head rotate";
constexpr const char* kNoteHeadWidth = "elements of a head; null: hidden_size / num_attention_heads";

const std::vector<ConfigKey> kGpt2Keys{
    fixed_key("architectures", "null", R"([null, [], ["GPT2LMHeadModel"], ["GPT2Model"]])", "the class"),
    read_key("n_layer", "12", kNoteLayers),
    read_key("n_head", "12", kNoteHeads),
    read_key("n_embd", "768", kNoteWidth),
    read_key("n_inner", "null", "elements inside the feed-forward block; null: 4 n_embd"),
    read_key("n_positions", "1024", "the context"),
    read_key("vocab_size", "50257", kNoteVocabulary),
    read_key("layer_norm_epsilon", "1e-05", kNoteEpsilon),
    fixed_key("activation_function", R"("gelu_new")", R"(["gelu_new", "gelu_pytorch_tanh"])", kNoteActivation),
    fixed_key("scale_attn_weights", "true", "[true]", "scores are divided by the root of a head's elements"),
    fixed_key("scale_attn_by_inverse_layer_idx", "false", "[false]", "scores are scaled alike in all layers"),
    fixed_key("tie_word_embeddings", "true", "[true]", kNoteTied),
    ignored_key("reorder_and_upcast_attn", "rounding only"),
    ignored_key("n_ctx", "an older name of n_positions, which the class does not read"),
    ignored_key("attn_pdrop", kNoteTraining),
    ignored_key("embd_pdrop", kNoteTraining),
    ignored_key("resid_pdrop", kNoteTraining),
    ignored_key("summary_type", kNoteTasks),
    ignored_key("summary_use_proj", kNoteTasks),
    ignored_key("summary_activation", kNoteTasks),
    ignored_key("summary_proj_to_labels", kNoteTasks),
    ignored_key("summary_first_dropout", kNoteTasks),
    ignored_key("n_special", kNoteTasks),
    ignored_key("predict_special_tokens", kNoteTasks),
};

const std::vector<ConfigKey> kOptKeys{
    fixed_key("architectures", "null", R"([null, [], ["OPTForCausalLM"], ["OPTModel"]])", "the class"),
    read_key("num_hidden_layers", "12", kNoteLayers),
    read_key("num_attention_heads", "12", kNoteHeads),
    read_key("hidden_size", "768", kNoteWidth),
    read_key("ffn_dim", "3072", kNoteInner),
    read_key("max_position_embeddings", "2048", "the context"),
    read_key("vocab_size", "50272", kNoteVocabulary),
    read_key("word_embed_proj_dim", "null", "must be hidden_size; null: it is"),
    fixed_key("activation_function", R"("relu")", R"(["relu"])", kNoteActivation),
    fixed_key("do_layer_norm_before", "true", "[true]", "norms come before attention and the feed-forward block"),
    fixed_key("_remove_final_layer_norm", "false", "[false]", "there is a norm before the unembedding"),
    fixed_key("enable_bias", "true", "[true]", "biases of all projections"),
    fixed_key("layer_norm_elementwise_affine", "true", "[true]", "norms have gains and biases"),
    fixed_key("tie_word_embeddings", "true", "[true]", kNoteTied),
    ignored_key("dropout", kNoteTraining),
    ignored_key("attention_dropout", kNoteTraining),
    ignored_key("activation_dropout", kNoteTraining),
    ignored_key("layerdrop", kNoteTraining),
    ignored_key("init_std", kNoteTraining),
};

const std::vector<ConfigKey> kNeoxKeys{
    fixed_key("architectures", "null", R"([null, [], ["GPTNeoXForCausalLM"], ["GPTNeoXModel"]])", "the class"),
    read_key("num_hidden_layers", "44", kNoteLayers),
    read_key("num_attention_heads", "64", kNoteHeads),
    read_key("hidden_size", "6144", kNoteWidth),
    read_key("intermediate_size", "24576", kNoteInner),
    read_key("max_position_embeddings", "2048", kNotePositions),
    read_key("vocab_size", "50432", kNoteVocabulary),
    read_key("layer_norm_eps", "1e-05", kNoteEpsilon),
    read_key("tie_word_embeddings", "false", kNoteTied),
    read_key("rope_parameters", "null", kNoteRope),
    read_key("rope_scaling", "null", kNoteRope),
    read_key("rotary_emb_base", "10000", kNoteTheta),
    read_key("rotary_pct", "0.25", "part of a head that rotates, rounded down to whole elements"),
    read_key("rope_theta", "", "transformers 4 wrote it once more; must be the base that is used"),
    read_key("partial_rotary_factor", "", "transformers 4 wrote it once more; must be the part that is used"),
    fixed_key("rope_interleaved", "false", "[false]", kNoteInterleaved),
    fixed_key("hidden_act", R"("gelu")", R"(["gelu"])", kNoteActivation),
    fixed_key("use_parallel_residual", "true", "[true]", "attention and feed-forward block read the same vector"),
    fixed_key("attention_bias", "true", "[true]", kNoteBiases),
    ignored_key("attention_dropout", kNoteTraining),
    ignored_key("hidden_dropout", kNoteTraining),
    ignored_key("attention_probs_dropout_prob", kNoteTraining),
    ignored_key("hidden_dropout_prob", kNoteTraining),
    ignored_key("classifier_dropout", kNoteTraining),
};

const std::vector<ConfigKey> kLlamaKeys{
    fixed_key("architectures", "null",
              R"([null, [], ["LlamaForCausalLM"], ["LLaMAForCausalLM"], ["LLaMaForCausalLM"], ["LlamaModel"]])",
              "the class"),
    read_key("num_hidden_layers", "32", kNoteLayers),
    read_key("num_attention_heads", "32", kNoteHeads),
    read_key("num_key_value_heads", "null", kNoteKvHeads),
    read_key("hidden_size", "4096", kNoteWidth),
    read_key("head_dim", "null", kNoteHeadWidth),
    read_key("intermediate_size", "11008", kNoteInner),
    read_key("max_position_embeddings", "2048", kNotePositions),
    read_key("vocab_size", "32000", kNoteVocabulary),
    read_key("rms_norm_eps", "1e-06", kNoteEpsilon),
    read_key("tie_word_embeddings", "false", kNoteTied),
    read_key("rope_parameters", "null", kNoteRope),
    read_key("rope_scaling", "null", kNoteRope),
    read_key("rope_theta", "10000", kNoteTheta),
    fixed_key("rope_interleaved", "false", "[false]", kNoteInterleaved),
    fixed_key("partial_rotary_factor", "null", "[null, 1]", kNotePart),
    fixed_key("hidden_act", R"("silu")", R"(["silu", "swish"])", kNoteActivation),
    fixed_key("attention_bias", "false", "[false]", kNoteBiases),
    fixed_key("mlp_bias", "false", "[false]", "biases of the feed-forward block"),
    fixed_key("pretraining_tp", "1", "[1, null]", "projections are computed whole"),
    fixed_key("sliding_window", "null", "[null]", "there is no window"),
    ignored_key("attention_dropout", kNoteTraining),
    ignored_key("is_llama_config", kNoteOrigin),
    ignored_key("max_sequence_length", "the longest text in training; the class does not read it"),
};

const std::vector<ConfigKey> kMistralKeys{
    fixed_key("architectures", "null", R"([null, [], ["MistralForCausalLM"], ["MistralModel"]])", "the class"),
    read_key("num_hidden_layers", "32", kNoteLayers),
    read_key("num_attention_heads", "32", kNoteHeads),
    read_key("num_key_value_heads", "8", "heads of keys and values"),
    read_key("hidden_size", "4096", kNoteWidth),
    read_key("head_dim", "null", kNoteHeadWidth),
    read_key("intermediate_size", "14336", kNoteInner),
    read_key("max_position_embeddings", "131072", kNotePositions),
    read_key("vocab_size", "32000", kNoteVocabulary),
    read_key("rms_norm_eps", "1e-06", kNoteEpsilon),
    read_key("tie_word_embeddings", "false", kNoteTied),
    read_or_null_key("sliding_window", "4096", "keys that a token sees in every layer; null: all before it"),
    read_key("layer_types", "null", "the class does not read it; must say of every layer what `sliding_window` says"),
    read_key("rope_parameters", "null", kNoteRope),
    read_key("rope_scaling", "null", kNoteRope),
    read_key("rope_theta", "10000", kNoteTheta),
    fixed_key("rope_interleaved", "false", "[false]", kNoteInterleaved),
    fixed_key("partial_rotary_factor", "null", "[null, 1]", kNotePart),
    fixed_key("hidden_act", R"("silu")", R"(["silu", "swish"])", kNoteActivation),
    fixed_key("attention_bias", "false", "[false]", kNoteBiases),
    ignored_key("attention_dropout", kNoteTraining),
};

constexpr const char* kNoteUseWindow = "false: no layer has a window";
constexpr const char* kNoteWindow = "keys that a token sees in layers with a window; null: all before it";
constexpr const char* kNoteFirstWindow =
    "layers before this one see all keys, the others have the window, where `layer_types` is missing";
constexpr const char* kNoteTypes =
    "full_attention every n-th time and sliding_attention else, one for each layer; null: made from the keys above";

const std::vector<ConfigKey> kQwen2Keys{
    fixed_key("architectures", "null", R"([null, [], ["Qwen2ForCausalLM"], ["Qwen2Model"]])", "the class"),
    read_key("num_hidden_layers", "32", kNoteLayers),
    read_key("num_attention_heads", "32", kNoteHeads),
    read_or_null_key("num_key_value_heads", "32", kNoteKvHeads),
    read_key("hidden_size", "4096", kNoteWidth),
    read_key("head_dim", "null", kNoteHeadWidth),
    read_key("intermediate_size", "22016", kNoteInner),
    read_key("max_position_embeddings", "32768", kNotePositions),
    read_key("vocab_size", "151936", kNoteVocabulary),
    read_key("rms_norm_eps", "1e-06", kNoteEpsilon),
    read_key("tie_word_embeddings", "false", kNoteTied),
    read_key("use_sliding_window", "false", kNoteUseWindow),
    read_or_null_key("sliding_window", "4096", kNoteWindow),
    read_key("max_window_layers", "28", kNoteFirstWindow),
    read_key("layer_types", "null", kNoteTypes),
    read_key("rope_parameters", "null", kNoteRope),
    read_key("rope_scaling", "null", kNoteRope),
    read_key("rope_theta", "10000", kNoteTheta),
    fixed_key("rope_interleaved", "false", "[false]", kNoteInterleaved),
    fixed_key("partial_rotary_factor", "null", "[null, 1]", kNotePart),
    fixed_key("use_mrope", "false", "[false]", "positions are those of text"),
    fixed_key("hidden_act", R"("silu")", R"(["silu", "swish"])", kNoteActivation),
    ignored_key("attention_bias", "queries, keys and values have biases whatever it says; the class does not read it"),
    ignored_key("attention_dropout", kNoteTraining),
};

const std::vector<ConfigKey> kQwen3Keys{
    fixed_key("architectures", "null", R"([null, [], ["Qwen3ForCausalLM"], ["Qwen3Model"]])", "the class"),
    read_key("num_hidden_layers", "32", kNoteLayers),
    read_key("num_attention_heads", "32", kNoteHeads),
    read_or_null_key("num_key_value_heads", "32", kNoteKvHeads),
    read_key("hidden_size", "4096", kNoteWidth),
    read_key("head_dim", "128", "elements of a head"),
    read_key("intermediate_size", "22016", kNoteInner),
    read_key("max_position_embeddings", "32768", kNotePositions),
    read_key("vocab_size", "151936", kNoteVocabulary),
    read_key("rms_norm_eps", "1e-06", kNoteEpsilon),
    read_key("tie_word_embeddings", "false", kNoteTied),
    read_key("use_sliding_window", "false", kNoteUseWindow),
    read_or_null_key("sliding_window", "4096", kNoteWindow),
    read_key("max_window_layers", "28", kNoteFirstWindow),
    read_key("layer_types", "null", kNoteTypes),
    read_key("rope_parameters", "null", kNoteRope),
    read_key("rope_scaling", "null", kNoteRope),
    read_key("rope_theta", "10000", kNoteTheta),
    fixed_key("rope_interleaved", "false", "[false]", kNoteInterleaved),
    fixed_key("partial_rotary_factor", "null", "[null, 1]", kNotePart),
    fixed_key("hidden_act", R"("silu")", R"(["silu", "swish"])", kNoteActivation),
    fixed_key("attention_bias", "false", "[false]", kNoteBiases),
    ignored_key("attention_dropout", kNoteTraining),
};

const std::vector<ConfigKey> kGemma3TextKeys{
    fixed_key("architectures", "null",
              R"([null, [], ["Gemma3ForCausalLM"], ["Gemma3TextModel"], ["Gemma3ForConditionalGeneration"]])",
              "the class"),
    read_key("num_hidden_layers", "26", kNoteLayers),
    read_key("num_attention_heads", "8", kNoteHeads),
    read_key("num_key_value_heads", "4", "heads of keys and values"),
    read_key("hidden_size", "2304", kNoteWidth),
    read_key("head_dim", "256", "elements of a head"),
    read_key("intermediate_size", "9216", kNoteInner),
    read_key("max_position_embeddings", "131072", kNotePositions),
    read_key("vocab_size", "262208", kNoteVocabulary),
    read_key("rms_norm_eps", "1e-06", kNoteEpsilon),
    read_key("tie_word_embeddings", "true", kNoteTied),
    read_key("query_pre_attn_scalar", "256", "scores are divided by its root"),
    read_key("sliding_window", "4096", "keys that a token sees in layers with a window"),
    read_key("sliding_window_pattern", "6", "every n-th layer sees all keys, where `layer_types` is missing"),
    read_key("_sliding_window_pattern", "",
             "the class does not read it; where `layer_types` is missing it must be `sliding_window_pattern`"),
    read_key("layer_types", "null", kNoteTypes),
    read_key("rope_parameters", "null", "rotary positions of the two types of layers, see below"),
    read_key("rope_scaling", "null", "rotary positions of layers that see all keys; only without `rope_parameters`"),
    read_key("rope_theta", "1000000", "base of rotary positions of layers that see all keys, where they have none"),
    read_key("rope_local_base_freq", "10000", "base of rotary positions of layers with a window, where they have none"),
    fixed_key("rope_interleaved", "false", "[false]", kNoteInterleaved),
    fixed_key("partial_rotary_factor", "null", "[null, 1]", kNotePart),
    fixed_key("hidden_activation", R"("gelu_pytorch_tanh")", R"(["gelu_pytorch_tanh"])", kNoteActivation),
    fixed_key("hidden_act", "null", R"([null, "gelu_pytorch_tanh"])", "the class reads `hidden_activation`"),
    fixed_key("attention_bias", "false", "[false]", kNoteBiases),
    fixed_key("use_bidirectional_attention", "false", "[false, null]", "attention is causal"),
    fixed_key("final_logit_softcapping", "null", "[null]", "logits are not capped"),
    fixed_key("attn_logit_softcapping", "null", "[null]", "scores are not capped"),
    ignored_key("attention_dropout", kNoteTraining),
};

constexpr const char* kNoteImages = "images, which are not computed here; their tensors are refused";

const std::vector<ConfigKey> kGemma3Keys{
    fixed_key("architectures", "null", R"([null, [], ["Gemma3ForConditionalGeneration"], ["Gemma3ForCausalLM"]])",
              "the class"),
    read_key("text_config", "null", "an object with the keys of gemma3_text"),
    read_key("tie_word_embeddings", "true", "must be as in text_config"),
    ignored_key("vision_config", kNoteImages),
    ignored_key("mm_tokens_per_image", kNoteImages),
    ignored_key("boi_token_index", kNoteImages),
    ignored_key("eoi_token_index", kNoteImages),
    ignored_key("image_token_index", kNoteImages),
};

const std::vector<ConfigKey> kGptOssKeys{
    fixed_key("architectures", "null", R"([null, [], ["GptOssForCausalLM"], ["GptOssModel"]])", "the class"),
    read_key("num_hidden_layers", "36", kNoteLayers),
    read_key("num_attention_heads", "64", kNoteHeads),
    read_key("num_key_value_heads", "8", "heads of keys and values"),
    read_key("hidden_size", "2880", kNoteWidth),
    read_key("head_dim", "64", "elements of a head"),
    read_key("intermediate_size", "2880", "elements inside an expert"),
    read_key("num_local_experts", "128", "experts of a feed-forward block"),
    read_key("num_experts_per_tok", "4", "experts that a token goes through"),
    read_key("experts_per_token", "", "the class does not read it; must be `num_experts_per_tok`"),
    read_key("max_position_embeddings", "131072", kNotePositions),
    read_key("vocab_size", "201088", kNoteVocabulary),
    read_key("rms_norm_eps", "1e-05", kNoteEpsilon),
    read_key("tie_word_embeddings", "false", kNoteTied),
    read_key("sliding_window", "128", "keys that a token sees in layers with a window"),
    read_key(
        "layer_types", "null",
        "full_attention every n-th time and sliding_attention else, one for each layer; null: every second is full"),
    read_key("rope_parameters", "null",
             "rotary positions, see below; null, and no `rope_scaling`: yarn by 32 from 4096 positions, not truncated"),
    read_key("rope_scaling", "null", kNoteRope),
    read_key("rope_theta", "150000", kNoteTheta),
    fixed_key("rope_interleaved", "false", "[false]", kNoteInterleaved),
    fixed_key("partial_rotary_factor", "null", "[null, 1]", kNotePart),
    fixed_key("hidden_act", R"("silu")", R"(["silu"])", "of experts, with the clamps and the factor below"),
    fixed_key("swiglu_limit", "7.0", "[7.0]", "clamps of experts"),
    fixed_key("swiglu_alpha", "1.702", "[1.702]", "factor in the sigmoid of experts"),
    fixed_key("attention_bias", "true", "[true]", kNoteBiases),
    ignored_key("initial_context_length", "the class reads `original_max_position_embeddings` of rotary positions"),
    ignored_key("output_router_logits", kNoteRun),
    ignored_key("router_aux_loss_coef", kNoteTraining),
    ignored_key("attention_dropout", kNoteTraining),
};

}  // namespace

std::vector<ConfigTable> family_tables() {
  return {
      {"gpt2", "gpt2", kGpt2Keys, true},          {"opt", "opt", kOptKeys, true},
      {"gpt_neox", "gpt_neox", kNeoxKeys, true},  {"llama", "llama", kLlamaKeys, true},
      {"mistral", "mistral", kMistralKeys, true}, {"qwen2", "qwen2", kQwen2Keys, true},
      {"qwen3", "qwen3", kQwen3Keys, true},       {"gemma3_text", "gemma3_text", kGemma3TextKeys, true},
      {"gemma3", "gemma3", kGemma3Keys, true},    {"gpt_oss", "gpt_oss", kGptOssKeys, true},
  };
}

}  // namespace sink
