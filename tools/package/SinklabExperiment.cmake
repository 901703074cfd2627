# sinklab_experiment(my_attention.h): for each ablation in a file of yours, the programs train_<name>, eval_<name> and
# check_<name>, in a project that has found or added Sinklab. Sinklab's own build makes its ablations and operations with
# the same functions.

# For code without loops of its own: -Og compiles a quarter to a third faster than -O1, and small functions inline, without which
# JSON takes half as long again. GCC clears the upper halves of vector registers (vzeroupper) only with the last flag; without it,
# loops in libm that followed took five times as long.
set(SINK_QUICK_FLAGS "-O1" CACHE INTERNAL "")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(SINK_QUICK_FLAGS -Og -finline-small-functions -finline-functions-called-once -fexpensive-optimizations CACHE INTERNAL "")
endif()

# The sources of one attention operation: `op`, a type of namespace sink that the headers `include` define. Sets NAME_cpu,
# NAME_cuda and NAME_hopper (for sm_90a).
function(sinklab_attention_sources name op include)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
  string(REGEX REPLACE "([^;]+);?" "#include \"\\1\"\n" includes "${include}")
  file(CONFIGURE OUTPUT ${folder}/attention_${name}.cpp @ONLY CONTENT
"#include \"engine/ops/attention/attention_dispatch.h\"
#include \"engine/ops/attention/ref/attention_trace_ref.h\"
@includes@namespace sink {
using ItsOp = @op@;
SINK_ATTENTION_TEMPLATES(ItsOp)
SINK_ATTENTION_TRACE_TEMPLATE(ItsOp)
}
")
  file(CONFIGURE OUTPUT ${folder}/attention_${name}_cuda.cu @ONLY CONTENT
"#include \"engine/ops/attention/cuda/attention_backward_cuda.cuh\"
#include \"engine/ops/attention/cuda/attention_forward_cuda.cuh\"
#include \"engine/ops/attention/statistics/key_sums_cuda.cuh\"
@includes@namespace sink::cuda {
using ItsOp = @op@;
SINK_ATTENTION_KERNEL_TEMPLATES(ItsOp)
}
")
  file(CONFIGURE OUTPUT ${folder}/attention_${name}_hopper.cu @ONLY CONTENT
"#include \"engine/ops/attention/cuda/attention_hopper_backward_cuda.cuh\"
#include \"engine/ops/attention/cuda/attention_hopper_forward_cuda.cuh\"
@includes@namespace sink::cuda {
using ItsOp = @op@;
SINK_HOPPER_KERNEL_TEMPLATES(ItsOp)
}
")
  set(${name}_cpu ${folder}/attention_${name}.cpp PARENT_SCOPE)
  set(${name}_cuda ${folder}/attention_${name}_cuda.cu PARENT_SCOPE)
  set(${name}_hopper ${folder}/attention_${name}_hopper.cu PARENT_SCOPE)
endfunction()

# The names of the ablations in `header`. What would silently be something else, or hundreds of lines of the compiler's, is
# refused with a sentence: a name that no program can have, and a kind of policy that does not exist, which would leave
# the ablation as it was.
function(sinklab_ablations_in header names)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
  find_file(SINKLAB_SPEC model/spec.h NO_DEFAULT_PATH  # in a checkout or in an installation
            PATHS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../.. ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../include/sinklab
            ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../../include/sinklab)
  mark_as_advanced(SINKLAB_SPEC)
  file(STRINGS "${SINKLAB_SPEC}" kinds REGEX "^ +typename S::[A-Za-z]+; ")
  list(TRANSFORM kinds REPLACE "^ +typename S::([A-Za-z]+);.*" "\\1")
  file(READ "${header}" text)
  string(REGEX REPLACE "[[]|[]]|;" " " text "${text}")  # which CMake's lists cannot hold
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX MATCHALL "(^|\n)struct [A-Za-z0-9_]+ *:? *[A-Za-z0-9_:]*[^\n]*(\n  using [^\n]*)*" structs "${text}")
  set(found "")
  foreach(one ${structs})
    string(REGEX MATCH "struct ([A-Za-z0-9_]+) *:? *([A-Za-z0-9_:]*)" words "${one}")
    set(name ${CMAKE_MATCH_1})
    set(parent "${CMAKE_MATCH_2}")
    if(NOT name MATCHES "^[a-z0-9_]+$")
      if(name MATCHES "^[a-z]" OR (parent AND (parent IN_LIST found OR parent IN_LIST every_name)))
        message(FATAL_ERROR "${header}: the ablation `${name}` makes programs, whose names are of lower-case letters, digits "
                            "and _: name it so")
      endif()
      continue()
    endif()
    if(name IN_LIST found)
      message(FATAL_ERROR "${header} has two ablations `${name}`; give one another name")
    endif()
    list(APPEND found ${name})
    string(REGEX MATCHALL "using [A-Za-z0-9_]+ *=" policies "${one}")
    foreach(policy ${policies})
      string(REGEX REPLACE "using ([A-Za-z0-9_]+) *=" "\\1" kind "${policy}")
      if(NOT kind IN_LIST kinds)
        list(JOIN kinds ", " known)
        message(FATAL_ERROR "${header}: `${name}` sets ${kind}, which is no kind of policy and would change nothing. The "
                            "kinds (model/spec.h): ${known}")
      endif()
    endforeach()
  endforeach()
  set(${names} ${found} PARENT_SCOPE)
endfunction()

# Writes `source`, which makes an Ablation of the struct `name` out of the headers `include`.
function(sinklab_ablation_source source name include)
  string(REGEX REPLACE "([^;]+);?" "#include \"\\1\"\n" includes "${include}")
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include \"model/ablation_of.h\"
@includes@namespace sink {
Ablation ablation_@name@() { return ablation_of<ablations::@name@>(\"@name@\"); }
}
")
endfunction()

# train_NAME and eval_NAME, of objects that hold its ablation and perhaps others.
function(sinklab_programs name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/generated/ablations/program_${name}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"namespace sink {
struct Ablation;
Ablation ablation_@name@();
extern Ablation (*const ablation_of_program)();
Ablation (*const ablation_of_program)() = ablation_@name@;
}
")
  foreach(program train eval)
    add_executable(${program}_${name} ${source} ${ARGN})
    target_link_libraries(${program}_${name} PRIVATE Sinklab::${program}_main Sinklab::sinklab)
    target_link_options(${program}_${name} PRIVATE -Wl,--gc-sections)
  endforeach()
endfunction()

# The objects of the ablation `name` of `file`, which are set as `objects`: its model, and the kernels of its attention
# operation, whichever it is. A file with an operation needs no list and no other file for that.
function(sinklab_own_ablation name file objects)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
  sinklab_ablation_source(${folder}/ablation_${name}.cpp ${name} "${file}")
  add_library(ablation_${name} OBJECT ${folder}/ablation_${name}.cpp)
  target_link_libraries(ablation_${name} PRIVATE Sinklab::model)
  target_compile_options(ablation_${name} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:${SINK_QUICK_FLAGS}>")
  sinklab_attention_sources(of_${name} "AttentionPolicy<ablations::${name}::Attention>::Op" "model/ablations.h;${file}")
  add_library(attention_of_${name} OBJECT ${of_${name}_cpu})
  target_link_libraries(attention_of_${name} PRIVATE Sinklab::model)
  target_compile_options(attention_of_${name} PRIVATE ${SINK_ENGINE_FLAGS} $<$<NOT:$<CONFIG:Debug>>:-O3>)
  set(all $<TARGET_OBJECTS:ablation_${name}> $<TARGET_OBJECTS:attention_of_${name}>)
  if(NOT SINKLAB_CUDA STREQUAL "OFF")
    sinklab_kernel_library(kernels_of_${name} ${of_${name}_cuda})
    sinklab_kernel_library(hopper_kernels_of_${name} ${of_${name}_hopper})
    target_link_libraries(kernels_of_${name} PRIVATE Sinklab::model)
    target_link_libraries(hopper_kernels_of_${name} PRIVATE Sinklab::model)
    if(SINKLAB_CUDA STREQUAL "ON")
      set_target_properties(hopper_kernels_of_${name} PROPERTIES CUDA_ARCHITECTURES 90a-real)
    endif()
    list(APPEND all $<TARGET_OBJECTS:kernels_of_${name}> $<TARGET_OBJECTS:hopper_kernels_of_${name}>)
  endif()
  set(${objects} ${all} PARENT_SCOPE)
endfunction()

# An object library of CUDA kernels: of nvcc, or of g++ for the emulated device, with line numbers for its messages.
function(sinklab_kernel_library name)
  add_library(${name} OBJECT ${ARGN})
  target_compile_definitions(${name} PRIVATE SINK_CUDA)
  if(SINKLAB_CUDA STREQUAL "EMULATED")
    set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Release>:-g1> ${SINK_KERNEL_FLAGS})
    target_link_libraries(${name} PRIVATE Sinklab::flags)
    return()
  endif()
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CUDA)
  target_link_libraries(${name} PRIVATE Sinklab::flags CUDA::cudart CUDA::cublasLt)
  target_compile_options(${name} PRIVATE --extended-lambda --expt-relaxed-constexpr
                         -Xptxas=--warn-on-spills,--warn-on-local-memory-usage)
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}" CUDA_RUNTIME_LIBRARY Shared)
  if(CCACHE)
    set_target_properties(${name} PROPERTIES CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

# check_<name>, which checks the attention operation (engine/ops/attention/check_operation.h).
function(sinklab_check name file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/generated/check_${name}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include \"engine/ops/attention/check_operation.h\"
#include \"model/ablations.h\"
#include \"@file@\"
int main() { return sink::check_operation(sink::AttentionPolicy<sink::ablations::@name@::Attention>::op(), \"@name@\"); }
")
  add_executable(check_${name} ${source} ${ARGN})
  target_compile_options(check_${name} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:${SINK_QUICK_FLAGS}>")
  target_link_libraries(check_${name} PRIVATE Sinklab::sinklab)
endfunction()

# The names of the ablations in a file of yours; messages begin with `what`.
function(sinklab_own_names what file names)
  if(NOT EXISTS "${file}" OR IS_DIRECTORY "${file}")
    message(FATAL_ERROR "${what}: there is no file ${file}")
  endif()
  sinklab_ablations_in("${file}" found)
  if(NOT found)
    message(FATAL_ERROR "${what}: no ablation in ${file}; one is a line `struct my_name : baseline { ... };` that begins its "
                        "line, with a name of lower-case letters, digits and _, in namespace sink::ablations")
  endif()
  set(${names} ${found} PARENT_SCOPE)
endfunction()

function(sinklab_experiment file)
  get_filename_component(file "${file}" ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  sinklab_own_names(sinklab_experiment "${file}" names)
  foreach(name ${names})
    sinklab_own_ablation(${name} "${file}" objects)
    sinklab_programs(${name} ${objects})
    sinklab_check(${name} "${file}" ${objects})
  endforeach()
  set(SINKLAB_EXPERIMENTS ${names} PARENT_SCOPE)
endfunction()
