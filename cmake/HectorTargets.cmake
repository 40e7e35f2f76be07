# The three kinds of target that folders declare: libraries, unit tests, fuzz targets.

# hector_library(NAME SOURCES ... [DEPENDS ...])
function(hector_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
endfunction()

# hector_unit_test(NAME SOURCES ... DEPENDS ...): one GoogleTest binary; ctest runs each of its tests as NAME/SUITE.TEST.
function(hector_unit_test name)
  if(HECTOR_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE HECTOR_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # Tests take longer to compile than to run.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  # Code that tests compile is kept from run to run, but not in the user's cache.
  gtest_discover_tests(${name} TEST_PREFIX ${name}/ DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES ENVIRONMENT HECTOR_CACHE=${PROJECT_BINARY_DIR}/code-cache)
endfunction()

# hector_fuzz_target(NAME SOURCES ... DEPENDS ... [DICTIONARY FILE] [SEEDS FOLDER...]): a libFuzzer binary, built only in
# the fuzz preset. Beside it NAME.args holds the arguments that it is run with, one per line.
function(hector_fuzz_target name)
  if(NOT HECTOR_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "DICTIONARY" "SOURCES;DEPENDS;SEEDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set(arguments "")
  if(ARG_DICTIONARY)
    string(APPEND arguments "-dict=${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DICTIONARY}\n")
  endif()
  foreach(folder ${ARG_SEEDS})
    get_filename_component(folder ${folder} ABSOLUTE)
    if(EXISTS ${folder})
      string(APPEND arguments "${folder}\n")
    endif()
  endforeach()
  file(WRITE ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}.args "${arguments}")
endfunction()
