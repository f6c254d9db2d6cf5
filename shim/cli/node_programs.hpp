// The programs of a ledger (tessera/node.h) together with what they publish of themselves (tessera/live.h).
//
// Thread safety: none.
#pragma once

#include <vector>

#include "share_view.hpp"
#include "top_view.hpp"

// Of the ledger that this environment names; without programs if it cannot be read.
ShareView share_view_of_environment();
// Adds the states of the rows to the view, and the shares of the view to the rows. Of programs in this namespace of
// process ids, which `tessera run` has started.
void match(ShareView& view, std::vector<TopRow>& rows);
