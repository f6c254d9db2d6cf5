#include "host_memory.hpp"

#include <sys/mman.h>

#include "driver/native_codes.hpp"

namespace tessera::softcuda {
namespace {

Address address_of(const void* host) { return Address(reinterpret_cast<std::uint64_t>(host)); }

}  // namespace

Result<void*> HostMemory::allocate(Context& context, Bytes bytes, unsigned flags) {
  const Bytes whole = round_up(bytes, 4_KiB);
  void* const host = ::mmap(nullptr, whole.value(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (host == MAP_FAILED) return Status(Code::kOutOfMemory, "out of host memory");
  if (const Status pinned = register_within_bound(host, whole); !pinned.is_ok()) {
    ::munmap(host, whole.value());
    return pinned;
  }
  Range range{.base = address_of(host), .bytes = bytes, .kind = RangeKind::kHost};
  range.context = &context;
  range.flags = flags;
  if (!ranges_.add(range)) return Status(Code::kInternal, "two allocations at one address");
  return host;
}

Status HostMemory::free(void* host) {
  const auto range = ranges_.remove(address_of(host), RangeKind::kHost);
  if (!range) return Status(Code::kInvalidArgument, "not pinned host memory of this driver");
  TESSERA_TRY(unregister(host, round_up(range->bytes, 4_KiB)));
  if (::munmap(host, round_up(range->bytes, 4_KiB).value()) == 0) return Status::ok();
  return Status(Code::kInternal, "the system refused to unmap host memory");
}

Status HostMemory::pin(Context& context, void* host, Bytes bytes, unsigned flags) {
  if (const auto around = ranges_.find(address_of(host)); around && around->kind == RangeKind::kHost) {
    return Status(Code::kInvalidArgument, "allocated memory cannot be registered");
  }
  TESSERA_TRY(register_within_bound(host, bytes));
  Range range{.base = address_of(host), .bytes = bytes, .kind = RangeKind::kRegistered};
  range.context = &context;
  range.flags = flags;
  if (ranges_.add(range)) return Status::ok();
  TESSERA_TRY(unregister(host, bytes));
  return Status(Code::kDriver, "host memory registered twice", native::kHostMemoryAlreadyRegistered);
}

Status HostMemory::unpin(void* host) {
  if (const auto range = ranges_.remove(address_of(host), RangeKind::kRegistered)) {
    return unregister(host, range->bytes);
  }
  const auto around = ranges_.find(address_of(host));
  if (around && (around->kind == RangeKind::kRegistered || around->kind == RangeKind::kHost)) {
    return Status(Code::kInvalidArgument, "allocated, or not the beginning of registered host memory");
  }
  return Status(Code::kDriver, "host memory is not registered", native::kHostMemoryNotRegistered);
}

Status HostMemory::register_within_bound(void* host, Bytes bytes) {
  const Bytes all(pinned_.fetch_add(bytes.value()) + bytes.value());
  Status pinned;
  if (bound_ && all > bound_) {
    pinned = Status(Code::kOutOfMemory, "no more host memory can be pinned");
  } else {
    pinned = driver_.register_host(host, bytes);
  }
  if (!pinned.is_ok()) pinned_.fetch_sub(bytes.value());
  return pinned;
}

Status HostMemory::unregister(void* host, Bytes bytes) {
  TESSERA_TRY(driver_.unregister_host(host));
  pinned_.fetch_sub(bytes.value());
  return {};
}

}  // namespace tessera::softcuda
