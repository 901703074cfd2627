// train_<ablation>: trains one model from scratch.
#include "train/trainer.h"

namespace sink {
Ablation ablation_of_program();  // made by CMakeLists.txt from the struct in model/ablations.h
}

int main(int argc, char** argv) { return sink::train_main(argc, argv, sink::ablation_of_program()); }
