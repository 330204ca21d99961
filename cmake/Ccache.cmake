# Puts ccache before the compiler when it is installed, set so that precompiled headers and other build folders hit.
find_program(TTS_CCACHE ccache)
if(TTS_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for with precompiled headers; the base folder (above both the sources and
  # the usual build folders) makes paths relative, so that a second build folder beside the first shares the cache.
  cmake_path(GET PROJECT_SOURCE_DIR PARENT_PATH tts_ccache_base)
  set(tts_launcher ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${tts_ccache_base} CCACHE_NOHASHDIR=1 ${TTS_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${tts_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${tts_launcher})
endif()
