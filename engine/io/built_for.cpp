// Compiled as everything else is: which extensions that uses.
#include "engine/io/processor.h"

namespace sink {

// A macro that is not defined remains its name, which is longer than the text "1".
#define SINK_TEXT(x) #x
#define SINK_IS_BUILT_FOR(name, macro) .name = sizeof(SINK_TEXT(macro)) == sizeof("1"),
constinit const ProcessorExtensions kBuiltFor = {SINK_PROCESSOR_EXTENSIONS(SINK_IS_BUILT_FOR)};

}  // namespace sink
