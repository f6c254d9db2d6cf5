// Which runs move in parts: they become rows (pages/row.hpp).
//
// A run stays whole as long as nothing is known of its parts: its pages are evicted and fetched one by one all the
// same. It becomes a row when the program tells its extents, when a call uses a part of it while another part is away,
// and before its first use if it is larger than the device.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "residency/engine.hpp"
#include "residency/eviction/transfers.hpp"
#include "residency/pages/page_moves.hpp"
#include "residency/pages/row.hpp"

namespace tessera {

class Rows {
 public:
  Rows(Engine& engine, PageMoves& moves, Transfers& transfers)
      : engine_(engine), moves_(moves), transfers_(transfers) {}

  // Not a run below kLeastRow; nor one with a callback, which recomputes all of it at once.
  bool can_be_row(const Run& run) const;
  // REQUIRES: can_be_row().
  void make(Run& run);
  // It can be a row, and will never be on the device as a whole.
  bool is_too_large(const Run& run);
  // From now on an address in the run's block means the extent that contains it, if the run is a row or can be one.
  // Without extents the block is one object again, as it is when it ends. Returns the extents that were there before;
  // they may be destroyed once no reader of the page map is left that came before this call. Errors: kBusy where a
  // launch in progress does not return; nothing has changed then.
  Result<std::unique_ptr<const Extents>> set_extents(Run& run, std::optional<Extents> extents);

  // From now on the same of the extents in `live`, unless the block stays whole. Returns and errors as set_extents().
  Result<std::unique_ptr<const Extents>> follow(Run& run, LiveExtents& live);
  // The block is one object until it ends, or extents are set.
  void keep_whole(Run& run);

  // ---- ranges: rows of runs that the program maps
  Run& add_range(Address address, TagId tag);
  // It is destroyed once no call uses it. REQUIRES: it has no parts, no launch can find it any more, and nothing else
  // refers to it.
  void remove_range(Run& range);
  // PageMoves::rehome of the run, or of all parts of the row. The run is in `range` then; null: in none. Errors: also
  // kBusy where a launch in progress does not return, and kNotSupported for a row and a range; nothing has changed
  // then. REQUIRES: no launch can find the run.
  Status rehome(Run& run, Address to, Run* range);
  // It is in no range then. Errors, REQUIRES: as rehome().
  Status leave_range(Run& run);

  // Takes the frames of a run with pages away, takes it from the engine's list, and destroys it. REQUIRES: no work uses
  // it, and nothing refers to it.
  Status remove(Run& run);

 private:
  std::unique_ptr<Run> take_out(Run& run);
  Status rehome_row(Run& row, Address to);
  void move_to_range(Run* range, Run& run);

  Engine& engine_;
  PageMoves& moves_;
  Transfers& transfers_;
  std::vector<const Run*> ended_ranges_;  // that calls used when they were removed
};

}  // namespace tessera
