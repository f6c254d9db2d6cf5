// The environment of a program that is about to be started: ours, with changes.
//
// This is the one place of the command line that reads or writes environment variables; options
// that have one are read by CLI11.
//
// Thread safety: none.
#pragma once

#include <map>
#include <string>
#include <vector>

class ChildEnvironment {
 public:
  // A copy of this process's environment.
  ChildEnvironment();

  void set(const std::string& name, const std::string& value) { variables_[name] = value; }
  void remove(const std::string& name) { variables_.erase(name); }
  // In front of what is there, with ':' between; nothing if it is in front already.
  void prepend(const std::string& name, const std::string& value);
  // "" when it is not set.
  std::string get(const std::string& name) const;

  // "NAME=value" strings, and the null-ended array that exec takes; valid while this lives and is
  // not changed.
  std::vector<char*> for_exec();

 private:
  std::map<std::string, std::string> variables_;
  std::vector<std::string> lines_;
};
