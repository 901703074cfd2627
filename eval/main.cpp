// eval_<ablation>: measures a trained model.
#include "eval/sink/evaluate_command.h"

namespace sink {
extern Ablation (*const ablation_of_program)();  // of the struct in model/ablations.h, by sinklab_programs() of CMake
}

int main(int argc, char** argv) { return sink::eval_main(argc, argv, sink::ablation_of_program()); }
