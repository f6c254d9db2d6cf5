// The environment of a program to be started: this process's environment with changes.
//
// This is the only place of the command line that reads or writes environment variables, apart from options with a
// variable, which CLI11 reads.
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
  // Prepends `value`, separated by ':'; does nothing if it is first already.
  void prepend(const std::string& name, const std::string& value);
  // "" if it is not set.
  std::string get(const std::string& name) const;

  // "NAME=value" strings, as the null-terminated array that exec takes. Valid while this object lives and is unchanged.
  std::vector<char*> for_exec();

 private:
  std::map<std::string, std::string> variables_;
  std::vector<std::string> lines_;
};
