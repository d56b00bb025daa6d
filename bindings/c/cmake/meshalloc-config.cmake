# meshalloc::meshalloc, the static library with its header.
add_library(meshalloc::meshalloc STATIC IMPORTED)
get_filename_component(_meshalloc_root "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set_target_properties(meshalloc::meshalloc PROPERTIES
  IMPORTED_LOCATION "${_meshalloc_root}/lib/libmeshalloc.a"
  INTERFACE_INCLUDE_DIRECTORIES "${_meshalloc_root}/include")
unset(_meshalloc_root)
