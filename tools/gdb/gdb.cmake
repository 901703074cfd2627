# What gdb finds beside a program of a debug build: a file that it loads where it trusts the folder. And without the
# linker's names of 40 000 functions, which are in the debug information, too, the program is at its first breakpoint in
# two thirds of the time. Names of vtables stay, by which gdb knows of what kind a node is, and those of variables.
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
