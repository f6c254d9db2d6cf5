#include "api/host_sharing.hpp"

#include "base/log.hpp"

namespace tessera {

// What is unused goes first, then copies of pages that are on a device too; pages that are in host memory alone go to
// the file, if there is one.
void HostSharing::look() {
  NodeMemory* const node = lower_.node();
  if (node == nullptr) return;
  if (node->file().look()) lower_.file().trim();
  if (!node->shares_host()) return;
  HostTier& host = lower_.host();
  const Bytes surplus = node->host().look();
  if (!surplus) {
    (void)host.shed(Bytes());
    if (!node->host().is_refused()) host.retry_ahead();
    return;
  }
  Bytes shed = host.shed(surplus);
  for (DeviceHeap* const heap : heaps_.all()) {
    if (shed >= surplus) break;
    const auto freed = heap->residency().yields().shed_host(surplus - shed);
    if (!freed.is_ok()) {
      log_line(LogLevel::kDebug, "host memory stays in use: {}", freed.status().to_string());
      continue;
    }
    heaps_.kick_pump(*heap);
    shed += host.shed(surplus - shed);
  }
  (void)node->host().look();  // returns what was granted for it
}

}  // namespace tessera
