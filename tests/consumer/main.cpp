// The program that sinklab_experiment makes, by hand.
#include "model/ablation_of.h"
#include "my_attention.h"
#include "train/trainer.h"

int main(int argc, char** argv) {
  return sink::train_main(argc, argv, sink::ablation_of<sink::ablations::op_sigmoid_none>("by_hand"));
}
