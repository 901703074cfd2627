# Tests of one kind are one program, which takes a third of the time to compile. Each stays a CTest test, which runs the
# cases of its source, and a target of the build. The sources know nothing of it: each is included into a namespace of its
# own, after every header that one of them includes.
option(SINK_JOIN_TESTS "Compile the tests in few programs; OFF: each is a program build/.../tests/NAME" ON)
set(tests_in_a_program 24)

# Whether `source` can be joined. Not what defines macros, opens another namespace or includes a list of macros; nor a
# test that links more than the others.
function(sink_can_join result source)
  get_filename_component(stem ${source} NAME_WE)
  file(STRINGS ${source} of_its_own REGEX "^#define|^#undef|^namespace [a-z:]+ {|^template <>|operator new|\\.def\"")
  set(${result} FALSE PARENT_SCOPE)
  if(SINK_JOIN_TESTS AND NOT of_its_own AND NOT stem MATCHES
     "^emulated_|^(attention_tiles_cuda|pre_tokenize|text_documents|chat_documents|prepare)_test$")
    set(${result} TRUE PARENT_SCOPE)
  endif()
endfunction()

# sink_join_test(SOURCE OPTIMIZED ON_DEVICES LIBRARIES...): adds a test to a program that has room, with others of
# its kind.
macro(sink_join_test source optimized on_devices)
  string(MAKE_C_IDENTIFIER "${ARGN}_${optimized}_${on_devices}" kind)
  list(FIND joined_kinds ${kind} kind_number)
  if(kind_number EQUAL -1)
    list(LENGTH joined_kinds kind_number)
    list(APPEND joined_kinds ${kind})
  endif()
  math(EXPR joined_count_${kind} "${joined_count_${kind}} + 1")
  math(EXPR joined_batch "(${joined_count_${kind}} - 1) / ${tests_in_a_program}")
  set(joined_program tests_${kind_number}_${joined_batch})
  list(APPEND joined_programs ${joined_program})
  list(APPEND sources_of_${joined_program} ${source})
  set(libraries_of_${joined_program} ${ARGN})
  set(optimized_${joined_program} ${optimized})
  set(program_of_${stem} ${joined_program})
  add_custom_target(${stem} DEPENDS ${joined_program})
  # A filter that finds no case would pass.
  add_test(NAME ${stem} COMMAND ${joined_program} --source-file=*/${path} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${stem} PROPERTIES FAIL_REGULAR_EXPRESSION "test cases: +0 ")
endmacro()

function(sink_make_joined_tests)
  list(REMOVE_DUPLICATES joined_programs)
  foreach(program ${joined_programs})
    set(headers "")
    set(tests "")
    foreach(source ${sources_of_${program}})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})  # for its headers
      file(STRINGS ${source} its_headers REGEX "^#include ")
      list(APPEND headers ${its_headers})
      get_filename_component(stem ${source} NAME_WE)
      file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR} ${source})
      string(APPEND tests "namespace of_${stem} {\n#include \"${path}\"\n}\n")
    endforeach()
    list(REMOVE_DUPLICATES headers)
    list(JOIN headers "\n" headers)
    set(joined ${CMAKE_CURRENT_BINARY_DIR}/${program}.cpp)
    file(CONFIGURE OUTPUT ${joined} @ONLY CONTENT "@headers@\n@tests@")
    add_executable(${program} ${joined})
    target_link_libraries(${program} PRIVATE sink_test_main ${libraries_of_${program}})
    target_compile_options(${program} PRIVATE ${test_flags_${optimized_${program}}})
  endforeach()
endfunction()

# sink_objects_of_tests(RESULT SOURCES...): the objects of the programs that hold these tests.
function(sink_objects_of_tests result)
  set(objects "")
  foreach(source ${ARGN})
    get_filename_component(stem ${source} NAME_WE)
    list(APPEND objects $<TARGET_OBJECTS:${program_of_${stem}}>)
  endforeach()
  list(REMOVE_DUPLICATES objects)
  set(${result} ${objects} PARENT_SCOPE)
endfunction()
