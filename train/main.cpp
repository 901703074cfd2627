// train_<ablation>: trains one model from scratch.
#include "train/trainer.h"

namespace sink {
Ablation SINK_ABLATION();  // made by CMakeLists.txt from the struct in model/ablations.h
}

int main(int argc, char** argv) { return sink::train_main(argc, argv, sink::SINK_ABLATION()); }
