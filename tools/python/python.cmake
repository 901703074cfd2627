# The Python module: sinklab/_core with its type stub. pip builds it (pyproject.toml); SINK_PYTHON=ON adds it to a build.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)
file(GLOB binding_sources CONFIGURE_DEPENDS tools/python/bindings/*.cpp)
# One module for Python 3.11 and later, by the stable ABI; the package nanobind-backend has what depends on the version.
nanobind_add_module(_core BACKEND_MODULE nanobind_backend STABLE_ABI_VERSION 3.11 NOMINSIZE ${binding_sources}
                    tools/sinklab/ablation_of_model.cpp)
target_link_libraries(_core PRIVATE sink_ablations sink_train sink_attention)
target_compile_options(_core PRIVATE $<$<CONFIG:Release>:-O1>)  # calls operations, has no loop of its own
# sinklab.torch.operation compiles an operation as this build compiles its own, against these headers and the module.
get_filename_component(compiler ${CMAKE_CXX_COMPILER} NAME)
list(JOIN code_flags " " flags)
target_compile_definitions(_core PRIVATE "SINK_COMPILER=\"${compiler}\"" "SINK_COMPILE_FLAGS=\"-std=c++20 -O3 ${flags}\"")
add_library(_processor MODULE tools/python/processor_module.cpp engine/io/built_for.cpp)
target_link_libraries(_processor PRIVATE sink_flags)
target_include_directories(_processor SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
target_compile_definitions(_processor PRIVATE Py_LIMITED_API=0x030B0000)
nanobind_extension_abi3(_processor)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(tools/python/processor_module.cpp PROPERTIES COMPILE_OPTIONS -march=x86-64)
endif()
add_dependencies(_core _processor)
# An importable package in the build folder: the module next to links to the files in Python.
set(python_package ${CMAKE_BINARY_DIR}/python/sinklab)
set_target_properties(_core _processor PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${python_package})
file(GLOB of_one_version ${python_package}/_core.cpython-*.so)  # of builds before the stable ABI: Python would take it
file(REMOVE ${python_package}/_core.so ${of_one_version})
file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/tools/python/sinklab
     tools/python/sinklab/*.py tools/python/sinklab/py.typed)
foreach(file ${python_files})
  get_filename_component(folder ${python_package}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/tools/python/sinklab/${file} ${python_package}/${file} SYMBOLIC)
endforeach()
set(functions_header tools/python/bindings/attention_functions.h)
file(MAKE_DIRECTORY ${python_package}/include/tools/python/bindings)
foreach(linked engine ${functions_header})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${linked} ${python_package}/include/${linked} SYMBOLIC)
endforeach()
nanobind_add_stub(_core_stub MODULE _core OUTPUT ${python_package}/_core.pyi PYTHON_PATH ${python_package} DEPENDS _core
                  PATTERN_FILE ${CMAKE_SOURCE_DIR}/tools/python/bindings/stub_patterns.txt)
install(TARGETS _core _processor LIBRARY DESTINATION sinklab COMPONENT python)
install(FILES ${python_package}/_core.pyi DESTINATION sinklab COMPONENT python)
install(DIRECTORY engine DESTINATION sinklab/include COMPONENT python FILES_MATCHING PATTERN "*.h"
        PATTERN "comm" EXCLUDE PATTERN "io" EXCLUDE PATTERN "data" EXCLUDE PATTERN "stored" EXCLUDE)
install(FILES ${functions_header} DESTINATION sinklab/include/tools/python/bindings COMPONENT python)
