# Before 1.0 a minor version may change everything.
set(PACKAGE_VERSION "@VERSION@")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _meshalloc_ours "${PACKAGE_VERSION}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" _meshalloc_theirs "${PACKAGE_FIND_VERSION}")
if(_meshalloc_ours STREQUAL _meshalloc_theirs AND NOT PACKAGE_FIND_VERSION VERSION_GREATER
   PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
