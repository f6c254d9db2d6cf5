// The blocks that a launch reaches through tables of pointers, directly and through further tables.
//
// Thread safety: a pure function of what it reads, apart from passing stretches; the lock of what it reads is held.
#pragma once

#include "found_words.hpp"
#include "pointer_entries.hpp"
#include "pointer_stretches.hpp"
#include "table_holders.hpp"

namespace tessera::preload {

// A smaller block counts as a single object of the program: frameworks split blocks of 2 MiB and more.
inline constexpr std::size_t kSharedBlock = 1 << 20;

// Adds, as uncertain words, what the tables in the words' blocks name, and the tables in those blocks, and so on, in
// the order that pointer_tables.hpp describes. Notes which stretches the launch has passed.
void walk_tables(const TableHolders& holders, const PointerStretches& stretches, const PointerEntries& entries,
                 Words& words);

}  // namespace tessera::preload
