# One pair of binaries per ablation: the list is model/ablations.h itself, and a file of your own in the same form. The
# mathematics of each is compiled once, for its binaries and for the library that holds all of them; so is what the
# binaries of all ablations have in common.
set(SINK_ABLATION_SET all CACHE STRING "Ablations of model/ablations.h to compile: all, or a list (what sanitizers see)")
set(SINK_PROGRAMS all CACHE STRING "Ablations to make train_<name> and eval_<name> for: all, none, or a list")
set(SINK_ABLATIONS "" CACHE FILEPATH "A file with ablations of your own, which are made in any case; model/ADD_AN_ABLATION.md shows one")
set(generated ${PROJECT_BINARY_DIR}/generated/ablations)
foreach(program train eval)
  add_library(${program}_main STATIC ${program}/main.cpp)
  set_target_properties(${program}_main PROPERTIES OUTPUT_NAME sink_${program}_main)
  target_link_libraries(${program}_main PUBLIC sink_train)
  add_library(Sinklab::${program}_main ALIAS ${program}_main)
endforeach()

# train_<ablation> and eval_<ablation>.
function(sink_programs ablation)
  sinklab_programs(${ablation} ${ARGN})
  sink_for_gdb(train_${ablation})
  sink_for_gdb(eval_${ablation})
endfunction()

sinklab_ablations_in("${PROJECT_SOURCE_DIR}/model/ablations.h" every_name)
set(names "")
set(left_out 0)
foreach(ablation ${every_name})
  if(NOT SINK_ABLATION_SET STREQUAL "all" AND NOT ablation IN_LIST SINK_ABLATION_SET)
    math(EXPR left_out "${left_out} + 1")
    continue()
  endif()
  list(APPEND names ${ablation})
endforeach()

# Eight neighbours are one object: most of what the compiler does for an ablation it does for the others, too. A program
# has the functions of its own ablation alone.
set(ablations_in_an_object 8)
set(all_objects "")
set(ablations_object "")
foreach(ablation ${names})
  list(FIND names ${ablation} number)
  math(EXPR place "${number} % ${ablations_in_an_object}")
  if(place EQUAL 0)
    set(ablations_object ablations_with_${ablation})
    add_library(${ablations_object} OBJECT)
    set_target_properties(${ablations_object} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    target_compile_options(${ablations_object} PRIVATE -ffunction-sections "$<$<CONFIG:Release>:${SINK_QUICK_FLAGS}>")
    target_link_libraries(${ablations_object} PUBLIC sink_model)
    list(APPEND all_objects $<TARGET_OBJECTS:${ablations_object}>)
  endif()
  sinklab_ablation_source(${generated}/ablation_${ablation}.cpp ${ablation} model/ablations.h)
  target_sources(${ablations_object} PRIVATE ${generated}/ablation_${ablation}.cpp)
  set(object_of_${ablation} $<TARGET_OBJECTS:${ablations_object}>)
  if(SINK_PROGRAMS STREQUAL "all" OR ablation IN_LIST SINK_PROGRAMS)
    sink_programs(${ablation} ${object_of_${ablation}})
  endif()
endforeach()

set(own "")
if(SINK_ABLATIONS)
  sinklab_own_names(SINK_ABLATIONS "${SINK_ABLATIONS}" own)
  foreach(ablation ${own})
    if(ablation IN_LIST every_name)
      message(FATAL_ERROR "SINK_ABLATIONS: ${SINK_ABLATIONS} has an ablation `${ablation}`, and there is one already of this "
                          "name in model/ablations.h; give yours another")
    endif()
    list(APPEND names ${ablation})
    sinklab_own_ablation(${ablation} "${SINK_ABLATIONS}" objects)
    sink_programs(${ablation} ${objects})
    sinklab_check(${ablation} "${SINK_ABLATIONS}" ${objects})
    list(APPEND all_objects ${objects})
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
foreach(ablation ${names})
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
add_library(sink_ablations model/all_ablations.cpp ${generated}/list_of_ablations.cpp ${all_objects})
target_link_libraries(sink_ablations PUBLIC sink_model sink_attention)

