// The interventions of the commands: of each head, of the first token and of bits.
#include "eval/interventions/interventions.h"

namespace sink {
namespace {

using What = Intervention::What;

Intervention named(const std::string& name, const std::string& meaning, What what) {
  Intervention intervention;
  intervention.name = name;
  intervention.meaning = meaning;
  intervention.what = what;
  return intervention;
}

}  // namespace

Intervention without_each_head(bool mean) {
  Intervention one = named(mean ? "head at its mean" : "without the head",
                           mean ? "its output is its mean" : "its output is zero", What::head);
  one.tokens.clear();
  one.mean_value = mean;
  one.per_head = true;
  return one;
}

std::vector<Intervention> default_interventions(const std::vector<std::int64_t>& tokens) {
  std::vector<Intervention> all;
  struct Kind {
    What what;
    const char *name, *meaning;
  };
  const Kind kinds[] = {{What::value, "removed", "later queries get nothing of token "},
                        {What::redistribute, "redistributed", "and their other weights make up for token "},
                        {What::constant, "constant", "later queries all get as much of token "}};
  for (std::int64_t token : tokens)
    for (const Kind& kind : kinds) {
      const std::string number = std::to_string(token);
      all.push_back(named(std::string(kind.name) + " " + number, kind.meaning + number, kind.what));
      all.back().tokens = {token};
    }
  auto rounded = [&](const char* name, const char* meaning, int weight_bits, int input_bits) {
    all.push_back(named(name, meaning, What::quantise));
    all.back().quantisation = {.weight_bits = weight_bits, .input_bits = input_bits, .inner = false};
  };
  rounded("W8A8", "matrices and what they read in 8 bits", 8, 8);
  rounded("W4A16", "matrices in 4 bits", 4, 0);
  rounded("W4A4", "matrices and what they read in 4 bits", 4, 4);
  return all;
}

std::vector<Intervention> quantisations() {
  std::vector<Intervention> all;
  const char* names[] = {"tensor", "channel", "token"};
  auto rounded = [&](const std::string& what, int bits, bool weights, bool inputs, Grain grain) {
    const std::string scale = names[static_cast<int>(grain)], number = std::to_string(bits);
    all.push_back(
        named(what + " " + number + " " + scale, what + " in " + number + " bits, a scale a " + scale, What::quantise));
    all.back().quantisation = {.weight_bits = weights ? bits : 0,
                               .input_bits = inputs ? bits : 0,
                               .weights = grain == Grain::tensor ? Grain::tensor : Grain::channel,
                               .inputs = grain};
  };
  for (int bits : {8, 6, 5, 4, 3}) {
    for (Grain grain : {Grain::tensor, Grain::channel}) rounded("weights", bits, true, false, grain);
    for (Grain grain : {Grain::tensor, Grain::channel, Grain::token}) rounded("inputs", bits, false, true, grain);
    for (Grain grain : {Grain::tensor, Grain::channel, Grain::token}) rounded("both", bits, true, true, grain);
  }
  return all;
}

}  // namespace sink
