// Fingerprints of pages: queued behind their copies, read or dropped when the copy is over.
//
// The fingerprint of a copy is computed from the device's bytes, behind the copy in its stream; a page used in between
// keeps neither.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <optional>
#include <span>

#include "residency/pages/fingerprint_desk.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_mappings.hpp"

namespace tessera {

class PageFingerprints {
 public:
  // `wanted`: false = no fingerprint is ever taken.
  PageFingerprints(const PageMachine& machine, const PageMappings& mappings, bool wanted)
      : machine_(machine), mappings_(mappings), desk_(machine.driver, machine.device, wanted) {}

  // Registers the memory that they need, so that no later call has to.
  void prepare() { desk_.prepare(); }
  // For the pages that want one (Page::fingerprint.wanted). On failure they only lose the chance of a later check.
  void queue(std::span<const PageRef> pages);
  // The fingerprint queued for it, which is complete by now; nothing if none was queued.
  std::optional<Fingerprint> read(PageRef page);
  void drop(PageRef page);

  // Whether a check, or a fingerprint for a later one, costs less than a copy at this rate.
  bool pays_to_ask(double copy_rate) { return desk_.pays_to_ask(copy_rate); }
  bool pays_to_take(double copy_rate) { return desk_.pays_to_take(copy_rate); }
  // The outcome of a check.
  void note(Bytes bytes, bool same) { desk_.note(bytes, same); }

 private:
  const PageMachine& machine_;
  const PageMappings& mappings_;
  FingerprintDesk desk_;
};

}  // namespace tessera
