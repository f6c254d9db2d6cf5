#include "child_environment.hpp"

#include <unistd.h>

#include <string_view>

ChildEnvironment::ChildEnvironment() {
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view text(*line);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables_.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
}

void ChildEnvironment::prepend(const std::string& name, const std::string& value) {
  std::string& now = variables_[name];
  if (now == value || now.starts_with(value + ":")) return;
  now = now.empty() ? value : value + ":" + now;
}

std::string ChildEnvironment::get(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? std::string() : found->second;
}

std::vector<char*> ChildEnvironment::for_exec() {
  lines_.clear();
  for (const auto& [name, value] : variables_) lines_.push_back(name + "=" + value);
  std::vector<char*> pointers;
  for (std::string& line : lines_) pointers.push_back(line.data());
  pointers.push_back(nullptr);
  return pointers;
}
