// Which addresses a run occupies: the front of this layer.
//
// A run of 32 MiB or more consists of large pages, each one window of the address space, and a tail of smaller pages
// at the start of the following window. A smaller run is a tail alone, in base windows of its domain (run_places.hpp).
// Runs are split and merged only here; the layer above caches whole runs.
//
// A program that maps memory itself reserves addresses here (reservations.hpp), and runs can be moved there and back. A
// run that does not fill its reservation is in the range of this reservation.
//
// Thread safety: all functions may be called from any thread; find() takes no lock.
//
// Invariants (validate())
//  1. Every window is free in the address space, or one large page, or a base window of one domain, or reserved.
//  2. Every base page of a base window is free in its domain or in one run of that domain.
//  3. The page map has exactly the pages of the runs.
//  4. A base window is never wholly free.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/mutex.hpp"
#include "page/address_space.hpp"
#include "page/page_map.hpp"
#include "page/reservations.hpp"
#include "page/run_places.hpp"
#include "page/run_readers.hpp"
#include "residency/residency.hpp"

namespace tessera {

struct PageStats {
  Bytes heap;        // the whole range
  Bytes in_runs;     // pages of all runs
  Bytes in_windows;  // windows in use: in_runs, the free base pages between, and `reserved`
  Bytes lost;        // addresses abandoned because the driver failed there
  Bytes reserved;    // windows reserved by the program
  std::uint64_t runs = 0;
  std::uint64_t acquired = 0, released = 0;
};

class PageManager {
 public:
  // Reserves `heap` bytes of addresses, or less, down to `least`. REQUIRES: driver and residency outlive it.
  // Errors: kOutOfMemory.
  static Result<std::unique_ptr<PageManager>> create(Driver& driver, Residency& residency, Bytes heap, Bytes least);
  // Removes all remaining runs. REQUIRES: no other call is in progress.
  ~PageManager();

  // Returns a run of at least `bytes` for the domain, not backed by frames yet. Errors: kOutOfMemory if no such
  // stretch of addresses is free; otherwise those of RunTable::add.
  Result<Run*> acquire(Bytes bytes, Domain domain, RunOwner owner);
  // Waits for the run's uses and readers, then frees its pages; `run` is invalid afterwards. REQUIRES: acquire
  // returned it; the calling thread is not a Reader. Errors: kBusy, and the run is unchanged; otherwise those
  // of RunTable::remove: the run is gone, and its addresses stay unused.
  Status release(Run* run);

  // Addresses for runs that are moved there, at least `bytes`. Errors: kOutOfMemory if there is no such stretch, or
  // half of the range is reserved.
  Result<Address> reserve(Bytes bytes);
  // Errors: kNotFound unless reserve() returned this address; kBusy while a run is in the range.
  Status unreserve(Address address);
  bool is_reserved(Address address) const;
  // The reservation with this address: its first one and the bytes that were asked for.
  std::optional<std::pair<Address, Bytes>> reservation_of(Address address) const;
  // Moves the run, once its uses are over, to addresses that are reserved and have no run, or to some of its own. The
  // run cannot be found meanwhile. REQUIRES: as release(); no other call moves or releases it, or ends the reservation.
  // Errors: kInvalidArgument if `to` is no such place, kOutOfMemory if no address is free, those of RunTable::rehome;
  // it is where it was then.
  Status move(Run* run, std::optional<Address> to);

  // Runs that find() returns stay valid while a Reader exists. Keep its scope short, and call nothing within it
  // that may release a run.
  class Reader {
   public:
    explicit Reader(PageManager& pages) : readers_(pages.readers_), ticket_(readers_.enter()) {}
    ~Reader() { readers_.leave(ticket_); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

   private:
    RunReaders& readers_;
    const RunReaders::Ticket ticket_;
  };
  // The run that contains this address; null if there is none.
  Run* find(Address address) const { return map_->find(address); }
  // Returns when every Reader that existed at the call is gone. REQUIRES: the calling thread is not a Reader.
  void await_readers() { readers_.wait_for_all(); }
  // For lookups directly behind a barrier, such as a launch inside the gate, which need the map beforehand.
  const PageMap& map() const { return *map_; }

  // All addresses ever handed out are in [low, high).
  Address low() const { return space_->low(); }
  Address high() const { return space_->high(); }
  PageStats stats() const;
  Status validate() const;

 private:
  // Positions count base pages from the start of the range.
  struct Placed {
    Run* run = nullptr;  // null while it is being removed, and for good if removal failed
    RunShape shape;
    Domain domain;
    bool reserved = false;  // in a range that the program reserved
  };

  PageManager(Residency& residency, std::unique_ptr<AddressSpace> space, std::unique_ptr<PageMap> map);

  Address address_of(std::uint64_t position) const { return low() + kBasePage * position; }
  std::uint64_t position_of(Address address) const { return (address - low()) / kBasePage; }
  std::optional<std::uint64_t> reserved_place(Address address, Bytes bytes) const REQUIRES_LOCK(mutex_);
  Run* range_for(Address address, const Run& run) REQUIRES_LOCK(mutex_);
  bool has_run(std::uint64_t position, std::uint64_t pages) const REQUIRES_LOCK(mutex_);
  void settle_move(std::uint64_t from, std::uint64_t to, bool moved) REQUIRES_LOCK(mutex_);
  Status validate_run(std::uint64_t position, const Placed& placed) const REQUIRES_LOCK(mutex_);
  Status validate_windows() const REQUIRES_LOCK(mutex_);
  Status validate_reserved() const REQUIRES_LOCK(mutex_);

  Residency& residency_;
  const std::unique_ptr<AddressSpace> space_;
  const std::unique_ptr<PageMap> map_;
  RunReaders readers_;

  mutable Mutex mutex_{LockRank::kPage};
  RunPlaces places_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Placed> runs_ GUARDED_BY(mutex_);  // by position
  Reservations reserved_ GUARDED_BY(mutex_);
  PageStats stats_ GUARDED_BY(mutex_);
};

}  // namespace tessera
