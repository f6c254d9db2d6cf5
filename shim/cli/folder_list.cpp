#include "folder_list.hpp"

#include <sstream>

std::vector<std::string> folders_in(const std::string& list) {
  std::vector<std::string> folders;
  std::istringstream text(list);
  for (std::string folder; std::getline(text, folder, ':');) {
    if (!folder.empty()) folders.push_back(folder);
  }
  return folders;
}
