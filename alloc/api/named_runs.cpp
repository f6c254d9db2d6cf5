#include "api/named_runs.hpp"

namespace tessera {

Extent named_bytes(const Run& run, Address address) {
  const Bytes offset = address - run.address;
  if (!run.is_cut.load()) return {Bytes(), run.shape.bytes()};
  const Extents* const extents = run.extents.load();
  if (extents == nullptr) return {Bytes(), run.shape.bytes()};  // they are being replaced
  return extents->at(offset).value_or(Extent{offset, Bytes(1)});
}

Extent named_bytes(const Run& run, const AddressRange& named) {
  if (!named.bytes) return named_bytes(run, named.address);
  return {named.address - run.address, named.bytes};
}

}  // namespace tessera
