# One pair of binaries per ablation: the list is model/ablations.h itself, and a file of your own in the same form. The
# mathematics of each is compiled once, for its binaries and for the library that holds all of them; so is what the
# binaries of all ablations have in common.
set(SINK_ABLATION_SET all CACHE STRING "Ablations of model/ablations.h to compile: all, or a list (what sanitizers see)")
set(SINK_PROGRAMS all CACHE STRING "Ablations to make train_<name> and eval_<name> for: all, none, or a list")
set(SINK_ABLATIONS "" CACHE FILEPATH "A file with ablations of your own, which are made in any case; model/ADD_AN_ABLATION.md shows one")
set(generated ${PROJECT_BINARY_DIR}/generated/ablations)
foreach(program train eval)
  add_library(${program}_main OBJECT ${program}/main.cpp)
  target_link_libraries(${program}_main PRIVATE sink_${program})
endforeach()

# The names of the structs in `header`. What would silently be something else, or hundreds of lines of the compiler's, is
# refused with a sentence: a name that no program can have, and a kind of policy that does not exist, which would leave
# the ablation as it was.
function(sink_ablations_in header names)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
  file(STRINGS "${PROJECT_SOURCE_DIR}/model/spec.h" kinds REGEX "^ +typename S::[A-Za-z]+; ")
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

# The objects of one ablation out of `header` and, where asked for, its programs. Ablations without programs are compiled
# eight at a time where SINK_JOIN_SOURCES asks for it.
function(sink_ablation ablation header programs)
  set(its_attention "")
  set(its_operation "AttentionPolicy<ablations::${ablation}::Attention>::Op")
  if(SINK_ATTENTION_WHERE_USED)
    set(its_attention "${attention_headers}namespace sink {
using ItsOp = ${its_operation};
// SINK_ATTENTION_TEMPLATES, with parameters for attention(), which here has an overload on Vars.
template void attention<ItsOp>(const ItsOp&, const Tensor&, const Tensor&, const Tensor&, const AttentionConfig&, Tensor&,
                            Tensor&, Tensor&);
template decltype(attention_backward<ItsOp>) attention_backward<ItsOp>;
template decltype(attention_statistics<ItsOp>) attention_statistics<ItsOp>;
template decltype(attention_pattern<ItsOp>) attention_pattern<ItsOp>;
SINK_ATTENTION_TRACE_TEMPLATE(, ${its_operation})
}
")
  endif()
  # In a release build its kernels are an object of their own, optimized as those of sink_attention, with the same bits.
  # Else they are compiled with the rest, which takes less time.
  set(its_kernels "")
  if(SINK_ATTENTION_WHERE_USED AND CMAKE_BUILD_TYPE STREQUAL Release)
    set(its_kernels ${generated}/attention_of_${ablation}.cpp)
    file(CONFIGURE OUTPUT ${its_kernels} @ONLY CONTENT
"#include \"model/ablations.h\"@header@
@its_attention@")
    set(its_attention "")
  endif()
  set(its_program "// Of the binaries that hold this one only.
[[gnu::weak]] Ablation ablation_of_program() { return ablation_${ablation}(); }
")
  if(SINK_JOIN_SOURCES AND NOT programs AND NOT SINK_ATTENTION_WHERE_USED)
    set(its_program "")
  endif()
  file(CONFIGURE OUTPUT ${generated}/ablation_${ablation}.cpp @ONLY CONTENT
"#include \"model/ablation_of.h\"@header@
@its_attention@namespace sink {
Ablation ablation_@ablation@() { return ablation_of<ablations::@ablation@>(\"@ablation@\"); }
@its_program@}
")
  if(NOT its_program)
    set(joined ${joined} ${generated}/ablation_${ablation}.cpp PARENT_SCOPE)
    return()
  endif()
  add_library(ablation_${ablation} OBJECT ${generated}/ablation_${ablation}.cpp)
  if(its_kernels)
    target_sources(ablation_${ablation} PRIVATE ${its_kernels})
    set_source_files_properties(${its_kernels} PROPERTIES COMPILE_OPTIONS "${SINK_ENGINE_FLAGS}")
    set_source_files_properties(${generated}/ablation_${ablation}.cpp PROPERTIES COMPILE_OPTIONS -O1)
  else()
    target_compile_options(ablation_${ablation} PRIVATE $<$<CONFIG:Release>:-O1>)  # calls operations, has no loop of its own
  endif()
  target_link_libraries(ablation_${ablation} PUBLIC sink_model)
  set(its_objects $<TARGET_OBJECTS:ablation_${ablation}>)
  if(SINK_ATTENTION_WHERE_USED AND SINK_EMULATED)
    file(CONFIGURE OUTPUT ${generated}/attention_of_${ablation}_cuda.cpp @ONLY CONTENT
"@kernel_headers@#include \"engine/ops/attention/cuda/attention_hopper_backward_cuda.cuh\"
#include \"engine/ops/attention/cuda/attention_hopper_forward_cuda.cuh\"
#include \"model/ablations.h\"@header@
namespace sink::cuda {
using ItsOp = @its_operation@;
SINK_ATTENTION_KERNEL_TEMPLATES(, ItsOp)
SINK_HOPPER_KERNEL_TEMPLATES(ItsOp)
}
")
    sink_emulated_kernels(kernels_of_${ablation} "${SINK_KERNEL_FLAGS}" ${generated}/attention_of_${ablation}_cuda.cpp)
    list(APPEND its_objects $<TARGET_OBJECTS:kernels_of_${ablation}>)
  endif()
  if(programs)
    foreach(program train eval)
      add_executable(${program}_${ablation} $<TARGET_OBJECTS:${program}_main> ${its_objects})
      target_link_libraries(${program}_${ablation} PRIVATE sink_${program})
      if(NOT SINK_ATTENTION_WHERE_USED)
        target_link_libraries(${program}_${ablation} PRIVATE sink_attention)
      endif()
      sink_for_gdb(${program}_${ablation})
    endforeach()
  endif()
endfunction()

sink_ablations_in("${PROJECT_SOURCE_DIR}/model/ablations.h" every_name)
set(names "")
set(joined "")
set(left_out 0)
foreach(ablation ${every_name})
  if(NOT SINK_ABLATION_SET STREQUAL "all" AND NOT ablation IN_LIST SINK_ABLATION_SET)
    math(EXPR left_out "${left_out} + 1")
    continue()
  endif()
  if(ablation IN_LIST names)
    message(FATAL_ERROR "model/ablations.h has two ablations `${ablation}`; give one another name")
  endif()
  list(APPEND names ${ablation})
  set(programs FALSE)
  if(SINK_PROGRAMS STREQUAL "all" OR ablation IN_LIST SINK_PROGRAMS)
    set(programs TRUE)
  endif()
  sink_ablation(${ablation} "" ${programs})
endforeach()
set(own "")
if(SINK_ABLATIONS)
  if(NOT EXISTS "${SINK_ABLATIONS}" OR IS_DIRECTORY "${SINK_ABLATIONS}")
    message(FATAL_ERROR "SINK_ABLATIONS: there is no file ${SINK_ABLATIONS}")
  endif()
  sink_ablations_in("${SINK_ABLATIONS}" own)
  if(NOT own)
    message(FATAL_ERROR "SINK_ABLATIONS: no ablation in ${SINK_ABLATIONS}; one is a line `struct my_name : baseline { ... };` "
                        "that begins its line, with a name of lower-case letters, digits and _, in namespace sink::ablations")
  endif()
  foreach(ablation ${own})
    if(ablation IN_LIST names OR ablation IN_LIST every_name)
      message(FATAL_ERROR "SINK_ABLATIONS: ${SINK_ABLATIONS} has an ablation `${ablation}`, and there is one already of this "
                          "name, in it or in model/ablations.h; give yours another")
    endif()
    list(APPEND names ${ablation})
    sink_ablation(${ablation} "\n#include \"${SINK_ABLATIONS}\"" TRUE)
  endforeach()
endif()
foreach(chosen ${SINK_ABLATION_SET} ${SINK_PROGRAMS})
  if(NOT chosen IN_LIST names AND NOT chosen MATCHES "^(all|none)$")
    message(FATAL_ERROR "SINK_ABLATION_SET or SINK_PROGRAMS names ${chosen}, which is no struct of model/ablations.h or "
                        "is not in SINK_ABLATION_SET")
  endif()
endforeach()
if(left_out GREATER 0)
  list(LENGTH names built)
  message(NOTICE "${built} ablations are compiled, ${left_out} left out (SINK_ABLATION_SET); tests leave them out too")
endif()
# The names, for programs that hold all ablations and may be older than the newest.
if(EXISTS ${generated}/names.txt)
  file(STRINGS ${generated}/names.txt names_before)
  set(new_names ${names})
  list(REMOVE_ITEM new_names ${names_before})
endif()
if(new_names)
  list(JOIN new_names ", " new_names)
  message(NOTICE "New ablations: ${new_names}. `ablations` and `sweep` know them once they are built again: "
                 "cmake --build ${PROJECT_BINARY_DIR} --target ablations sweep")
endif()
set(declarations "")
set(list "")
set(objects "")
if(joined)
  add_library(ablations_joined OBJECT ${joined})
  set_target_properties(ablations_joined PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  target_link_libraries(ablations_joined PUBLIC sink_model)
  list(APPEND objects $<TARGET_OBJECTS:ablations_joined>)
endif()
foreach(ablation ${names})
  if(TARGET ablation_${ablation})
    list(APPEND objects $<TARGET_OBJECTS:ablation_${ablation}>)
  endif()
  string(APPEND declarations "Ablation ablation_${ablation}();\n")
  string(APPEND list "      ablation_${ablation}(),\n")
endforeach()
list(LENGTH own own_count)
list(JOIN names "\n" names)
file(CONFIGURE OUTPUT ${generated}/names.txt @ONLY CONTENT "@names@\n")
file(CONFIGURE OUTPUT ${generated}/list_of_ablations.cpp @ONLY CONTENT
"#include \"model/all_ablations.h\"
namespace sink {
@declarations@
const std::vector<Ablation>& all_ablations() {
  static const std::vector<Ablation> all{
@list@  };
  return all;
}
std::span<const Ablation> repository_ablations() {
  return std::span(all_ablations()).first(all_ablations().size() - @own_count@);
}
int ablations_left_out() { return @left_out@; }
}
")
add_library(sink_ablations model/all_ablations.cpp ${generated}/list_of_ablations.cpp ${objects})
target_link_libraries(sink_ablations PUBLIC sink_model sink_attention)

