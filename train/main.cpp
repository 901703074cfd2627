// train_<ablation>: trains one model from scratch.
#include "model/ablations.h"
#include "model/transformer.h"
#include "train/trainer.h"

#define SINK_TEXT_OF(name) #name
#define SINK_TEXT(name) SINK_TEXT_OF(name)

int main(int argc, char** argv) {
  using Spec = sink::ablations::SINK_ABLATION;
  return sink::train_main(argc, argv, sink::ablation_of<sink::Transformer, Spec>(SINK_TEXT(SINK_ABLATION)));
}
