# The Python module: sinklab/_core with its type stub. pip builds it (pyproject.toml); SINK_PYTHON=ON adds it to a build.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                OUTPUT_VARIABLE nanobind_ROOT COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)
file(GLOB binding_sources CONFIGURE_DEPENDS tools/python/bindings/*.cpp)
nanobind_add_module(_core NB_STATIC NOMINSIZE ${binding_sources} tools/sinklab/ablation_of_model.cpp)
target_link_libraries(_core PRIVATE sink_ablations sink_train)
target_compile_options(_core PRIVATE $<$<CONFIG:Release>:-O1>)  # calls operations, has no loop of its own
# An importable package in the build folder: the module next to links to the files in Python.
set(python_package ${CMAKE_BINARY_DIR}/python/sinklab)
set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${python_package})
file(MAKE_DIRECTORY ${python_package})
file(GLOB python_files CONFIGURE_DEPENDS tools/python/sinklab/*.py tools/python/sinklab/py.typed)
foreach(file ${python_files})
  get_filename_component(name ${file} NAME)
  file(CREATE_LINK ${file} ${python_package}/${name} SYMBOLIC)
endforeach()
nanobind_add_stub(_core_stub MODULE _core OUTPUT ${python_package}/_core.pyi PYTHON_PATH ${python_package} DEPENDS _core
                  PATTERN_FILE ${CMAKE_SOURCE_DIR}/tools/python/bindings/stub_patterns.txt)
install(TARGETS _core LIBRARY DESTINATION sinklab COMPONENT python)
install(FILES ${python_package}/_core.pyi DESTINATION sinklab COMPONENT python)
