# One call per dialect, pass list, library, tool or unit test; every flag that keeps the two halves apart is set here.

# Collects all generated headers, so that a library never starts before the TableGen output it includes.
add_custom_target(tts-headers)

set(TTS_INCLUDE_DIRS ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
set(TTS_WARNINGS -Wall -Wextra -Wno-unused-parameter)
# MLIR's own headers set the rules: LLVM is built without run-time type information and without exceptions.
# -fPIC everywhere (executables too): one precompiled header then serves libraries, plugin and tools.
set(TTS_COMPILER_FLAGS -fPIC -fno-rtti -fno-exceptions -fno-semantic-interposition ${TTS_WARNINGS})

# tts_add_subdirectories(A B/C …): enters each folder that has a CMakeLists.txt, so that rooms can come one by one. B/C
# is left to B where B has its own.
function(tts_add_subdirectories)
  foreach(folder IN LISTS ARGN)
    set(is_entered_by_parent FALSE)
    cmake_path(GET folder PARENT_PATH parent)
    while(parent)
      if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${parent}/CMakeLists.txt)
        set(is_entered_by_parent TRUE)
      endif()
      cmake_path(GET parent PARENT_PATH parent)
    endwhile()
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt AND NOT is_entered_by_parent)
      add_subdirectory(${folder})
    endif()
  endforeach()
endfunction()

# tts_add_tablegen(TARGET FILE.td OUT FLAGS… [OUT FLAGS…]): each output ends with .inc, what follows are its flags.
function(tts_add_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(TABLEGEN_OUTPUT)
  set(output)
  set(flags)
  foreach(word IN LISTS ARGN)
    if(word MATCHES "\\.inc$")
      if(output)
        mlir_tablegen(${output} ${flags})
      endif()
      set(output ${word})
      set(flags)
    else()
      list(APPEND flags ${word})
    endif()
  endforeach()
  mlir_tablegen(${output} ${flags})
  add_public_tablegen_target(${target})
  add_dependencies(tts-headers ${target})
endfunction()

# tts_add_dialect(FILE DIALECT): from FILE.td the FILE{,Dialect,Types,Attrs,Enums}.{h,cpp}.inc of one dialect.
function(tts_add_dialect file dialect)
  tts_add_tablegen(${file}IncGen ${file}.td
    ${file}.h.inc -gen-op-decls
    ${file}.cpp.inc -gen-op-defs
    ${file}Dialect.h.inc -gen-dialect-decls -dialect=${dialect}
    ${file}Dialect.cpp.inc -gen-dialect-defs -dialect=${dialect}
    ${file}Types.h.inc -gen-typedef-decls -typedefs-dialect=${dialect}
    ${file}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${dialect}
    ${file}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${dialect}
    ${file}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${dialect}
    ${file}Enums.h.inc -gen-enum-decls
    ${file}Enums.cpp.inc -gen-enum-defs)
endfunction()

# tts_add_interfaces(FILE [op|attr|type]): FILE.{h,cpp}.inc of the interfaces in FILE.td.
function(tts_add_interfaces file)
  set(kind op)
  if(ARGN)
    set(kind ${ARGN})
  endif()
  tts_add_tablegen(${file}IncGen ${file}.td
    ${file}.h.inc -gen-${kind}-interface-decls
    ${file}.cpp.inc -gen-${kind}-interface-defs)
endfunction()

# tts_add_passes(STAGE): Passes.h.inc from this folder's Passes.td, registration function register<STAGE>Passes.
function(tts_add_passes stage)
  tts_add_tablegen(${stage}PassesIncGen Passes.td Passes.h.inc -gen-pass-decls -name=${stage})
endfunction()

# Flags and include folders of everything on the compiler's side.
function(tts_compiler_target target)
  target_compile_options(${target} PRIVATE ${TTS_COMPILER_FLAGS})
  target_compile_definitions(${target} PRIVATE ${LLVM_DEFINITIONS})
  target_include_directories(${target} PRIVATE ${TTS_INCLUDE_DIRS})
  target_include_directories(${target} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
endfunction()

# The heavy MLIR headers, compiled once for every compiler source.
add_library(TtsPch OBJECT ${PROJECT_SOURCE_DIR}/cmake/Pch.cpp)
tts_compiler_target(TtsPch)
target_precompile_headers(TtsPch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/Pch.h)

# tts_add_library(NAME SOURCES… [LINK_LIBS LIB…]): a static compiler library over the one shared libMLIR.
function(tts_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK_LIBS")
  add_library(${name} STATIC ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  tts_compiler_target(${name})
  target_precompile_headers(${name} REUSE_FROM TtsPch)
  target_link_libraries(${name} PUBLIC ${arg_LINK_LIBS} MLIR LLVM)
  add_dependencies(${name} tts-headers)
endfunction()

# tts_add_plugin(NAME SOURCES… [LINK_LIBS LIB…]): lib/NAME.so, for mlir-opt --load-dialect-plugin/--load-pass-plugin.
function(tts_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK_LIBS")
  add_library(${name} MODULE ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  tts_compiler_target(${name})
  target_precompile_headers(${name} REUSE_FROM TtsPch)
  set_target_properties(${name} PROPERTIES PREFIX "")
  target_link_libraries(${name} PRIVATE ${arg_LINK_LIBS} MLIR LLVM)
  add_dependencies(${name} tts-headers)
endfunction()

# tts_add_tool(NAME SOURCES… [LINK_LIBS LIB…] [RUNTIME]): bin/NAME; RUNTIME keeps MLIR out of its sight.
function(tts_add_tool name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "RUNTIME" "" "SOURCES;LINK_LIBS")
  add_executable(${name} ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  if(arg_RUNTIME)
    tts_runtime_target(${name})
    target_link_libraries(${name} PRIVATE ${arg_LINK_LIBS})
  else()
    tts_compiler_target(${name})
    target_precompile_headers(${name} REUSE_FROM TtsPch)
    target_link_libraries(${name} PRIVATE ${arg_LINK_LIBS} MLIR LLVM)
    add_dependencies(${name} tts-headers)
  endif()
endfunction()

# Flags of everything on the runtime's side: no MLIR include folder, so that including it does not even compile
# from a private copy; exceptions and OpenMP are allowed, contraction of multiply-add is the compiler's word.
function(tts_runtime_target target)
  target_compile_options(${target} PRIVATE -fPIC -fopenmp -ffp-contract=off ${TTS_WARNINGS})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_options(${target} PRIVATE -fopenmp)
endfunction()

# tts_add_runtime_library(NAME [OBJECT] SOURCES… [LINK_LIBS LIB…]): a static, position-independent runtime archive.
# OBJECT makes a part of one; a sub-room lists it in its parent's SOURCES as $<TARGET_OBJECTS:NAME>.
function(tts_add_runtime_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OBJECT" "" "SOURCES;LINK_LIBS")
  set(kind STATIC)
  if(arg_OBJECT)
    set(kind OBJECT)
  endif()
  add_library(${name} ${kind} ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  tts_runtime_target(${name})
  target_link_libraries(${name} PUBLIC ${arg_LINK_LIBS})
endfunction()

# tts_add_unittest(NAME SOURCES… [LINK_LIBS LIB…] [RUNTIME]): a GoogleTest program in test/bin, run by ctest.
function(tts_add_unittest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "RUNTIME" "" "SOURCES;LINK_LIBS")
  find_package(GTest REQUIRED)
  set(runtime)
  if(arg_RUNTIME)
    set(runtime RUNTIME)
  endif()
  tts_add_tool(${name} ${runtime} SOURCES ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS}
               LINK_LIBS ${arg_LINK_LIBS} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/test/bin)
  # scripts/test.sh counts the cases in this file; ctest itself counts programs.
  add_test(NAME ${name} COMMAND ${name} --gtest_output=xml:${PROJECT_BINARY_DIR}/test/results/cases/${name}.xml)
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT OMP_NUM_THREADS=2)
endfunction()
