// eval_<ablation>: measures a trained model.
#include "eval/evaluate_command.h"
#include "model/ablations.h"
#include "model/transformer.h"

#define SINK_TEXT_OF(name) #name
#define SINK_TEXT(name) SINK_TEXT_OF(name)

int main(int argc, char** argv) {
  using Spec = sink::ablations::SINK_ABLATION;
  return sink::eval_main(argc, argv, sink::ablation_of<sink::Transformer, Spec>(SINK_TEXT(SINK_ABLATION)));
}
