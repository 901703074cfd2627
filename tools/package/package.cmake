# Sinklab::sinklab and Sinklab::ablations, what a project in C++ links (tools/package/README.md), and their installation:
# cmake --install BUILD --component development
#
# The libraries are static by design. Policies are template parameters, so the code of an ablation is compiled into the
# program that names it, and a shared library would hold only the part that never changes; and the headers promise no
# stable ABI.
add_library(sink_package INTERFACE)
target_link_libraries(sink_package INTERFACE sink_train sink_attention)
set_target_properties(sink_package PROPERTIES EXPORT_NAME sinklab)
add_library(Sinklab::sinklab ALIAS sink_package)
set(installed sink_package sink_flags)
set_target_properties(sink_flags PROPERTIES EXPORT_NAME flags)
foreach(library engine attention autograd io data model eval train ablations)
  list(APPEND installed sink_${library})
  set_target_properties(sink_${library} PROPERTIES EXPORT_NAME ${library})
  add_library(Sinklab::${library} ALIAS sink_${library})
endforeach()
list(APPEND installed train_main eval_main)  # the main() of the programs of an ablation
if(NOT PROJECT_IS_TOP_LEVEL OR BUILD_SHARED_LIBS)  # the sanitizers' libraries are shared
  return()
endif()
add_custom_target(development DEPENDS ${installed})

# EXCLUDE_FROM_ALL: an installation that names no component has the programs alone.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Sinklab)
set(development COMPONENT development EXCLUDE_FROM_ALL)
install(TARGETS ${installed} EXPORT SinklabTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${development}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sinklab)
install(EXPORT SinklabTargets NAMESPACE Sinklab:: DESTINATION ${package} ${development})
install(DIRECTORY engine autograd model eval train DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sinklab ${development}
        FILES_MATCHING PATTERN *.h PATTERN *.cuh PATTERN *.def PATTERN page EXCLUDE PATTERN results EXCLUDE PATTERN recipes EXCLUDE)
set(generated_package ${PROJECT_BINARY_DIR}/generated/package)
configure_package_config_file(tools/package/SinklabConfig.cmake.in ${generated_package}/SinklabConfig.cmake
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${generated_package}/SinklabConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES tools/package/SinklabExperiment.cmake ${generated_package}/SinklabConfig.cmake ${generated_package}/SinklabConfigVersion.cmake
        DESTINATION ${package} ${development})
