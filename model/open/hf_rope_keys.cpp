// The keys of rope_parameters and rope_scaling in config.json, by the type of the rotations.
#include "model/open/hf_key_tables.h"

namespace sink {

namespace {

constexpr const char* kNoteRopePart = "the part of a head that rotates in gpt_neox; must be 1 in the other families";
constexpr const char* kNoteRopeTheta = "the base; missing: the key of config.json, or its default";
constexpr const char* kNoteRopeContext = "positions before they were slowed down; missing: max_position_embeddings";

const std::vector<ConfigKey> kRopeDefaultKeys{
    read_key("rope_type", R"("default")", "the type; missing: that of `type`"),
    read_key("type", "", "an older name of rope_type, and must be the same"),
    read_key("rope_theta", "", kNoteRopeTheta),
    read_key("partial_rotary_factor", "", kNoteRopePart),
    fixed_key("factor", "null", "[null, 1]", "positions are not slowed down"),
    ignored_key("original_max_position_embeddings", "not read for this type"),
};

const std::vector<ConfigKey> kRopeLinearKeys{
    read_key("rope_type", R"("default")", "the type; missing: that of `type`"),
    read_key("type", "", "an older name of rope_type, and must be the same"),
    read_key("rope_theta", "", kNoteRopeTheta),
    read_key("partial_rotary_factor", "", kNoteRopePart),
    read_key("factor", nullptr, "by which positions are divided; at least 1"),
    ignored_key("original_max_position_embeddings", "not read for this type"),
};

const std::vector<ConfigKey> kRopeLlama3Keys{
    read_key("rope_type", R"("default")", "the type; missing: that of `type`"),
    read_key("type", "", "an older name of rope_type, and must be the same"),
    read_key("rope_theta", "", kNoteRopeTheta),
    read_key("partial_rotary_factor", "", "must be 1"),
    read_key("factor", nullptr, "by which slow rotations are divided; at least 1"),
    read_key("original_max_position_embeddings", "", kNoteRopeContext),
    fixed_key("low_freq_factor", nullptr, "[1]", "turns of rotations that are divided by the factor"),
    fixed_key("high_freq_factor", nullptr, "[4]", "turns of rotations that are not"),
};

const std::vector<ConfigKey> kRopeYarnKeys{
    read_key("rope_type", R"("default")", "the type; missing: that of `type`"),
    read_key("type", "", "an older name of rope_type, and must be the same"),
    read_key("rope_theta", "", kNoteRopeTheta),
    read_key("partial_rotary_factor", "", "must be 1"),
    read_key("factor", nullptr, "by which slow rotations are divided; at least 1"),
    read_key("original_max_position_embeddings", "", kNoteRopeContext),
    fixed_key("beta_fast", "null", "[null, 32]", "turns of rotations that are not divided; null: 32"),
    fixed_key("beta_slow", "null", "[null, 1]", "turns of rotations that are divided by the factor; null: 1"),
    fixed_key("truncate", nullptr, "[false]", "the range of pairs between them is not rounded to whole ones"),
    fixed_key("attention_factor", "null", "[null]", "vectors grow by 0.1 ln(factor) + 1"),
    fixed_key("mscale", "null", "[null]", "vectors grow by 0.1 ln(factor) + 1"),
    fixed_key("mscale_all_dim", "null", "[null]", "vectors grow by 0.1 ln(factor) + 1"),
};

const std::vector<ConfigKey> kRopeGemma3Keys{
    read_key("full_attention", "null", "an object for the layers that see all keys; null: of type default"),
    read_key("sliding_attention", "null", "an object for the layers with a window, of type default; null: so it is"),
};

}  // namespace

std::vector<ConfigTable> rope_tables() {
  return {
      {"rope gemma3", "`rope_parameters` of gemma3_text", kRopeGemma3Keys, false},
      {"rope default", "rotary positions of type `default`", kRopeDefaultKeys, false},
      {"rope linear", "rotary positions of type `linear`", kRopeLinearKeys, false},
      {"rope llama3", "rotary positions of type `llama3`", kRopeLlama3Keys, false},
      {"rope yarn", "rotary positions of type `yarn`", kRopeYarnKeys, false},
  };
}

}  // namespace sink
