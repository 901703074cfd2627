// eval_<ablation>: measures a trained model.
#include "eval/evaluate_command.h"

namespace sink {
Ablation SINK_ABLATION();  // made by CMakeLists.txt from the struct in model/ablations.h
}

int main(int argc, char** argv) { return sink::eval_main(argc, argv, sink::SINK_ABLATION()); }
