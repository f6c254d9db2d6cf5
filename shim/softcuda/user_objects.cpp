#include "user_objects.hpp"

#include <utility>

namespace tessera::softcuda {

std::shared_ptr<UserObject> HeldObjects::find(CUuserObject handle) const {
  const auto known = held_.find(handle);
  return known != held_.end() ? known->second.object : nullptr;
}

void HeldObjects::add(const std::shared_ptr<UserObject>& object, unsigned count) {
  Held& held = held_[handle_of(object.get())];
  held.object = object;
  held.count += count;
}

bool HeldObjects::remove(CUuserObject handle, unsigned count, std::shared_ptr<UserObject>& ended) {
  const auto known = held_.find(handle);
  if (known == held_.end() || known->second.count < count) return false;
  known->second.count -= count;
  if (known->second.count != 0) return true;
  ended = std::move(known->second.object);
  held_.erase(known);
  return true;
}

}  // namespace tessera::softcuda
