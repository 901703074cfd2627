# Puts a file next to a program of a debug build, which gdb loads if it trusts the folder. Strips the linker's names of
# 40,000 functions, which the debug information has too: gdb then reaches the first breakpoint in two thirds of the time.
# Keeps the names of vtables, from which gdb derives the type of a node, and of variables.
function(sink_for_gdb program)
  if(NOT CMAKE_BUILD_TYPE STREQUAL Debug OR "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_DEBUG}" MATCHES "-fsanitize")
    return()
  endif()
  file(CONFIGURE OUTPUT ${program}-gdb.py
       CONTENT "import sys\nsys.path.insert(0, '${CMAKE_SOURCE_DIR}/tools/gdb')\nimport sinklab.in_gdb\n")
  if(CMAKE_OBJCOPY)
    add_custom_command(TARGET ${program} POST_BUILD VERBATIM COMMAND ${CMAKE_OBJCOPY} --strip-all --wildcard
                       --keep-section=.debug_* --keep-symbol=_ZTV* --keep-symbol=_ZN*E $<TARGET_FILE:${program}>)
  endif()
endfunction()
