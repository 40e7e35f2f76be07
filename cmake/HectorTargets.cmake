# The three kinds of target that folders declare: libraries, unit tests, fuzz targets.

# hector_library(NAME SOURCES ... [DEPENDS ...])
function(hector_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
endfunction()

# hector_unit_test(NAME SOURCES ... DEPENDS ...): one GoogleTest binary, run by ctest as one test.
function(hector_unit_test name)
  if(HECTOR_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE HECTOR_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# hector_fuzz_target(NAME SOURCES ... DEPENDS ...): a libFuzzer binary, built only in the fuzz preset.
function(hector_fuzz_target name)
  if(NOT HECTOR_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
