#include "folder_list.hpp"

#include <filesystem>

std::vector<std::string> folders_in(const std::string& list) {
  std::error_code error;
  if (list.find(':') != std::string::npos && std::filesystem::is_directory(list, error)) return {list};
  std::vector<std::string> folders;
  std::string folder;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const bool escaped = i + 1 < list.size() && list[i] == '\\' && (list[i + 1] == ':' || list[i + 1] == '\\');
    if (i == list.size() || list[i] == ':') {
      if (!folder.empty()) folders.push_back(std::move(folder));
      folder.clear();
    } else {
      folder += escaped ? list[++i] : list[i];
    }
  }
  return folders;
}

std::string folder_list(const std::vector<std::string>& folders) {
  std::string list;
  for (const std::string& folder : folders) {
    if (!list.empty()) list += ':';
    for (const char c : folder) {
      if (c == ':' || c == '\\') list += '\\';
      list += c;
    }
  }
  return list;
}
