# Installed files keep the build tree's layout under the prefix.
install(TARGETS tessera EXPORT tesseraTargets LIBRARY DESTINATION lib)
install(DIRECTORY include/tessera DESTINATION include)
