// Architectures and quantized weights that are refused by name.
#include <map>

#include "engine/io/printable.h"
#include "model/open/config_json.h"
#include "model/open/name_tables.h"
#include "model/open/open_config.h"

namespace sink {
namespace {

// "GPTQ with 4 bits": what an object of quantization is, by its `quant_method`; MLX writes none.
std::string quantization_in(const ConfigJson& json) {
  static const std::map<std::string, std::string> names{{"fp8", "FP8"},
                                                        {"fbgemm_fp8", "FP8"},
                                                        {"gptq", "GPTQ"},
                                                        {"awq", "AWQ"},
                                                        {"mxfp4", "MXFP4"},
                                                        {"MLX", "MLX"},
                                                        {"bitsandbytes", "bitsandbytes"},
                                                        {"compressed-tensors", "compressed-tensors"}};
  const nlohmann::json& object = json.json();
  auto is_true = [&](const char* key) { return object.contains(key) && object[key] == true; };
  const std::string method = object.contains("quant_method") && object["quant_method"].is_string()
                                 ? object["quant_method"].get<std::string>()
                             : is_true("load_in_4bit") || is_true("load_in_8bit") ? "bitsandbytes"
                             : json.holds("group_size") && json.holds("bits")     ? "MLX"
                                                                                  : "";
  const auto name = names.find(method);
  std::string text = method.empty()        ? "a type that is not named"
                     : name == names.end() ? in_quotes(method)
                                           : name->second;
  const char* bits = json.holds("bits") ? "bits" : "w_bit";
  if (json.holds(bits) && object[bits].is_number_integer()) text += " with " + counted(json.integer(bits), "bit");
  if (is_true("load_in_4bit")) text += " with 4 bits";
  if (is_true("load_in_8bit")) text += " with 8 bits";
  return text;
}

}  // namespace

std::string not_computed(const std::string& architecture, const std::vector<std::string>& known) {
  std::string why = " is not known here";
  for (const NameTable& page : name_tables(carried_text("ARCHITECTURES.md")))
    for (const auto& cells : page.rows)  // `model_type`, here, what is missing
      if (code_in(cells.at(0)).at(0) == architecture && !cells.at(2).empty())
        why = cells[2].starts_with("nothing") ? " has no family here" : " is not computed here: it has " + cells[2];
  return "the architecture " + in_quotes(architecture) + why + "; " + listed(known) + " are";
}

// `compression_config` is the older name of compressed-tensors, `quantization` that of MLX.
void refuse_quantized(const ConfigJson& json) {
  for (const char* key : {"quantization_config", "compression_config", "quantization"}) {
    if (!json.has(key)) continue;
    const std::string what =
        json.is_object(key) ? quantization_in(json.object(key)) : std::string("a type that is not named");
    const bool is_mxfp4 = what == "MXFP4";
    json.refuse(
        "the weights are quantized: " + what + " (`" + key +
        "`), which is not read from a folder; expected the model before it was quantized, or a GGUF file of it" +
        (is_mxfp4 ? "; transformers writes F32 or BF16 of it: from_pretrained(MODEL, "
                    "quantization_config=Mxfp4Config(dequantize=True)).save_pretrained(FOLDER, "
                    "save_original_format=False)"
                  : ""));
  }
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& one : names) text += (text.empty() ? "" : &one == &names.back() ? " and " : ", ") + one;
  return text;
}

}  // namespace sink
