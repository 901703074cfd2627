# Attention is compiled with one operation per source file, generated from the lines of attention_ops.def.
set(attention engine/ops/attention)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${attention}/op/attention_ops.def)
file(STRINGS ${attention}/op/attention_ops.def attention_lines REGEX "^ *SINK_ATTENTION_OP *\\(|^#undef")
file(READ ${attention}/op/attention_op.h attention_structs)

# Reports mistakes in the list, which would otherwise be hundreds of lines of compiler errors.
function(sink_check_attention_line line)
  set(list ${attention}/op/attention_ops.def)
  if(NOT line MATCHES "^SINK_ATTENTION_OP\\(([A-Za-z0-9_]+)\\) *(//.*)?$")
    message(FATAL_ERROR "${list}: `${line}`: expected SINK_ATTENTION_OP(Name) alone on its line, beginning it")
  endif()
  set(op ${CMAKE_MATCH_1})
  if("#undef" IN_LIST attention_ops)
    message(FATAL_ERROR "${list}: SINK_ATTENTION_OP(${op}) is below #undef SINK_ATTENTION_OP, where it has no effect; "
                        "put it above that line")
  endif()
  if(op IN_LIST attention_ops)
    message(FATAL_ERROR "${list}: SINK_ATTENTION_OP(${op}) is listed twice")
  endif()
  if(NOT attention_structs MATCHES "\nstruct ${op}[ \n]")
    message(FATAL_ERROR "${list}: SINK_ATTENTION_OP(${op}): ${attention}/op/attention_op.h has no `struct ${op}`")
  endif()
endfunction()

set(kernel_headers
"#include \"engine/ops/attention/cuda/attention_backward_cuda.cuh\"
#include \"engine/ops/attention/cuda/attention_forward_cuda.cuh\"
#include \"engine/ops/attention/statistics/attention_statistics_cuda.cuh\"
")
set(attention_headers
"#include \"engine/ops/attention/attention_dispatch.h\"
#include \"engine/ops/attention/ref/attention_trace_ref.h\"
")
set(SINK_ATTENTION_SET all CACHE STRING
    "Attention operations to compile: all, or a list; programs of ablations with another one do not link")
set(attention_sources "")
set(attention_hopper_kernels "")  # for sm_90a
set(attention_ops "")
foreach(line ${attention_lines})
  if(line MATCHES "^#undef")
    list(APPEND attention_ops "#undef")
    continue()
  endif()
  sink_check_attention_line("${line}")
  string(REGEX REPLACE "^SINK_ATTENTION_OP\\(([A-Za-z0-9_]+)\\).*" "\\1" op "${line}")
  list(APPEND attention_ops ${op})
  if(NOT SINK_ATTENTION_SET STREQUAL "all" AND NOT op IN_LIST SINK_ATTENTION_SET)
    continue()
  endif()
  set(source ${PROJECT_BINARY_DIR}/generated/attention_${op}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"@attention_headers@namespace sink { SINK_ATTENTION_TEMPLATES(, @op@) SINK_ATTENTION_TRACE_TEMPLATE(, @op@) }
")
  list(APPEND attention_sources ${source})
  set(source ${PROJECT_BINARY_DIR}/generated/attention_${op}_cuda.cu)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"@kernel_headers@namespace sink::cuda { SINK_ATTENTION_KERNEL_TEMPLATES(, @op@) }
")
  list(APPEND attention_kernels ${source})
  set(source ${PROJECT_BINARY_DIR}/generated/attention_${op}_hopper.cu)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
"#include \"engine/ops/attention/cuda/attention_hopper_backward_cuda.cuh\"
#include \"engine/ops/attention/cuda/attention_hopper_forward_cuda.cuh\"
namespace sink::cuda { SINK_HOPPER_KERNEL_TEMPLATES(@op@) }
")
  list(APPEND attention_hopper_kernels ${source})
endforeach()
foreach(chosen ${SINK_ATTENTION_SET})
  if(NOT chosen IN_LIST attention_ops AND NOT chosen STREQUAL "all")
    message(FATAL_ERROR "SINK_ATTENTION_SET: ${chosen} is not in ${attention}/op/attention_ops.def")
  endif()
endforeach()
