// eval_<ablation>: measures a trained model.
#include "eval/sink/evaluate_command.h"

namespace sink {
Ablation ablation_of_program();  // made by CMakeLists.txt from the struct in model/ablations.h
}

int main(int argc, char** argv) { return sink::eval_main(argc, argv, sink::ablation_of_program()); }
