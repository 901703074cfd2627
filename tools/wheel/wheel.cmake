# SINK_WHEEL=ON: what tools/wheel.sh puts into a wheel besides the module. Programs are in the package, where auditwheel
# gives them the libraries; scripts that pip makes start them (sinklab_program.py).
set(wheel_programs sinklab report sweep prepare ablations)  # as in tools/wheel.sh
add_executable(ablation_program tools/wheel/ablation_program.cpp)
target_link_libraries(ablation_program PRIVATE sink_train sink_attention sink_ablations)
add_custom_target(wheel_programs DEPENDS ${wheel_programs} ablation_program)
set(wheel COMPONENT wheel EXCLUDE_FROM_ALL)
install(TARGETS ${wheel_programs} ablation_program RUNTIME DESTINATION sinklab/programs ${wheel})
install(FILES tools/wheel/sinklab_program.py DESTINATION . ${wheel})
# The studies that `sweep` knows, the program of their tables with the paper's values, and the library of the report.
install(DIRECTORY train/studies DESTINATION sinklab/train ${wheel} FILES_MATCHING PATTERN "*.toml" PATTERN "science/*.py"
        PATTERN results EXCLUDE PATTERN released EXCLUDE)
install(FILES tools/study/paper.json DESTINATION sinklab/tools/study ${wheel})
find_file(CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js REQUIRED)
install(FILES ${CHART_JS} DESTINATION sinklab/programs ${wheel})
install(DIRECTORY DESTINATION sinklab/licenses ${wheel})
# The licences of the libraries that auditwheel adds, as Debian has them.
install(CODE [[
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES "${CMAKE_INSTALL_PREFIX}/sinklab/programs/sinklab"
       RESOLVED_DEPENDENCIES_VAR libraries PRE_EXCLUDE_REGEXES "^lib(c|m|stdc\\+\\+|gcc_s|resolv)\\.so" "^ld-linux")
  foreach(library ${libraries})
    file(REAL_PATH "${library}" library)
    get_filename_component(name "${library}" NAME)
    execute_process(COMMAND dpkg-query -S "*/${name}" OUTPUT_VARIABLE owner COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX REPLACE "^([^:, ]+).*" "\\1" package "${owner}")
    file(COPY_FILE "/usr/share/doc/${package}/copyright" "${CMAKE_INSTALL_PREFIX}/sinklab/licenses/${package}.txt")
  endforeach()
]] ${wheel})
