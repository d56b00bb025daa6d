# meshalloc::meshalloc, the static library with its header.
if(CMAKE_SYSTEM_PROCESSOR AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "@PROCESSORS@")
  set(meshalloc_FOUND FALSE)
  set(meshalloc_NOT_FOUND_MESSAGE
    "this archive is for @TARGET@, not for a processor called ${CMAKE_SYSTEM_PROCESSOR}")
  return()
endif()
add_library(meshalloc::meshalloc STATIC IMPORTED)
get_filename_component(_meshalloc_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set_target_properties(meshalloc::meshalloc PROPERTIES
  IMPORTED_LOCATION "${_meshalloc_root}/lib/libmeshalloc.a"
  INTERFACE_INCLUDE_DIRECTORIES "${_meshalloc_root}/include")
unset(_meshalloc_root)
