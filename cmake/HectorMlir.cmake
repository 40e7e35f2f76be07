# Finds MLIR 19 and makes `hector_link_mlir(target lib...)`, which links it shared (development) or static (release).
find_package(MLIR 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(HECTOR_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
set(LLVM_TOOLS_DIR ${LLVM_TOOLS_BINARY_DIR})

# Compiler and tools see LLVM's headers as system headers: we cannot fix their warnings.
add_library(hector_mlir_headers INTERFACE)
target_include_directories(hector_mlir_headers SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
target_compile_definitions(hector_mlir_headers INTERFACE ${HECTOR_LLVM_DEFINITIONS})
# LLVM is built without run-time type information; classes derived from its own must be too.
# TableGen's output leaves parameters unused.
target_compile_options(hector_mlir_headers INTERFACE -fno-rtti -Wno-unused-parameter)

if(HECTOR_STATIC_MLIR)
  # Debian's exported MLIR archives name the shared target `LLVM`: put the static components in its place.
  llvm_map_components_to_libnames(HECTOR_LLVM_COMPONENTS Core Support BinaryFormat Demangle)
  add_library(hector_llvm INTERFACE)
  target_link_libraries(hector_llvm INTERFACE ${HECTOR_LLVM_COMPONENTS})
  get_property(mlir_libraries GLOBAL PROPERTY MLIR_ALL_LIBS)
  foreach(library ${mlir_libraries})
    if(TARGET ${library})
      get_target_property(dependencies ${library} INTERFACE_LINK_LIBRARIES)
      if(dependencies)
        list(TRANSFORM dependencies REPLACE "^LLVM$" "hector_llvm")
        set_target_properties(${library} PROPERTIES INTERFACE_LINK_LIBRARIES "${dependencies}")
      endif()
    endif()
  endforeach()
  # Two archives name libraries that are shared only or absent here (Polly, z3).
  if(TARGET LLVMExtensions)
    set_target_properties(LLVMExtensions PROPERTIES INTERFACE_LINK_LIBRARIES "LLVMSupport")
  endif()
  find_library(HECTOR_ZLIB libz.a REQUIRED)
  find_library(HECTOR_ZSTD libzstd.a REQUIRED)
  set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES
    "rt;dl;m;${HECTOR_ZLIB};${HECTOR_ZSTD};LLVMDemangle")
  function(hector_link_mlir target)
    target_link_libraries(${target} PUBLIC hector_mlir_headers ${ARGN} hector_llvm)
  endfunction()
  add_link_options(-static-libstdc++ -static-libgcc)
else()
  function(hector_link_mlir target)
    target_link_libraries(${target} PUBLIC hector_mlir_headers MLIR LLVM)
  endfunction()
endif()
