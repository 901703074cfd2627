// train_<ablation>: trains one model from scratch.
#include "train/trainer.h"

namespace sink {
extern Ablation (*const ablation_of_program)();  // of the struct in model/ablations.h, by sinklab_programs() of CMake
}

int main(int argc, char** argv) { return sink::train_main(argc, argv, sink::ablation_of_program()); }
