#include "residency/pages/run.hpp"

#include <fmt/core.h>

namespace tessera {
namespace {

Status broken(const Run& run, std::uint32_t page, const char* what) {
  return Status(Code::kInternal, fmt::format("run {:#x} page {} ({}): {}", run.address.value(), page,
                                             name_of(run.pages[page].state), what));
}

}  // namespace

Status validate_run(const Run& run) {
  std::uint32_t missing = 0;
  std::array<Bytes, kPageStates> bytes;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const Page& page = run.pages[i];
    if (!is_present(page.state)) ++missing;
    bytes[static_cast<std::size_t>(page.state)] += page_bytes(run.shape.page_class(i));
    if ((is_mapped(page.state) || is_apart(page.state)) != page.device.has_value()) {
      return broken(run, i, "the device frame does not match its state");
    }
    if (page.device && page.device->page_class != run.shape.page_class(i)) {
      return broken(run, i, "a device frame of another page class");
    }
    const bool may_be_backed = page.state == PageState::kCold || is_in_host(page.state);
    if (page.copy.backed && (!may_be_backed || !page.host)) {
      return broken(run, i, "backed, but without a host frame or in another state");
    }
    const bool may_be_candidate = is_on_device(page.state) || is_apart(page.state);
    if (page.copy.candidate && (!page.host || !page.fingerprint.of_copy || !may_be_candidate)) {
      return broken(run, i, "a candidate without a copy to compare with");
    }
    if (page.fingerprint.is_pending() && !is_evicting(page.state)) {
      return broken(run, i, "a fingerprint in progress outside an eviction");
    }
    if (page.eviction.recalled && page.state != PageState::kEvicting && page.state != PageState::kChecking) {
      return broken(run, i, "recalled outside an eviction");
    }
    if (page.peer && (page.host || page.file)) return broken(run, i, "a peer copy in addition to others");
    if (page.peer && page.fingerprint.of_copy) return broken(run, i, "a fingerprint of a peer copy");
    switch (page.state) {
      case PageState::kCold:
        if (!page.has_copy()) return broken(run, i, "no copy of its bytes exists");
        break;
      case PageState::kSpilling:
      case PageState::kLoading:
        if (!page.host || !page.file) return broken(run, i, "a file transfer without a host or file frame");
        break;
      case PageState::kEvicting:
      case PageState::kApartEvicting:
      case PageState::kFetching:
      case PageState::kApartFetching:
        if (!page.is_near()) return broken(run, i, "a copy without a source or target");
        break;
      case PageState::kParting:
        if (!page.has_copy()) return broken(run, i, "parting without a copy");
        break;
      case PageState::kChecking:
      case PageState::kApartChecking:
        if (!page.host && !page.file) return broken(run, i, "a check without a copy");
        if (!page.fingerprint.of_copy) return broken(run, i, "a check without a fingerprint");
        break;
      case PageState::kGone:
        if (!run.is_dead() && !run.can_recompute()) return broken(run, i, "no copy of its bytes exists");
        [[fallthrough]];
      case PageState::kBlank:
      case PageState::kRecomputing:
      case PageState::kEmpty:
        if (page.has_copy()) return broken(run, i, "copies of bytes that are not needed");
        break;
      case PageState::kZeroCopy:
      case PageState::kReachable:
        if (!page.copy.backed || page.file || page.peer) return broken(run, i, "not used in its host frame alone");
        break;
      case PageState::kResident:
      case PageState::kApart:
      case PageState::kLost: break;
    }
  }
  if (missing != run.missing.load()) {
    return Status(Code::kInternal, fmt::format("run {:#x}: {} pages missing, {} counted", run.address.value(), missing,
                                               run.missing.load()));
  }
  if (bytes != run.bytes_by_state) {
    return Status(Code::kInternal, fmt::format("run {:#x}: its bytes by state do not add up", run.address.value()));
  }
  return {};
}

}  // namespace tessera
