// The manual page of a command, in man(7), made of its options.
//
// Thread safety: functions of values.
#pragma once

#include <map>
#include <string>

#include "command_tree.hpp"

// "tessera-plan-arena" for `tessera plan arena`: the page's name, and with ".1" its file's.
std::string man_page_name(const Command& command);

// `details` has paragraphs for options, by the options' names as "--device-memory". `root` is the whole command line:
// its other pages are named under SEE ALSO. `version` is the program's.
std::string man_page(const Command& command, const Command& root, const std::map<std::string, std::string>& details,
                     const std::string& version);
