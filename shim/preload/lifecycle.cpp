#include "lifecycle.hpp"

#include <pthread.h>

#include <array>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "control_server.hpp"
#include "driver_amounts.hpp"
#include "endings.hpp"
#include "foreign_ranges.hpp"
#include "green_contexts.hpp"
#include "handed_addresses.hpp"
#include "host_blocks.hpp"
#include "in_context.hpp"
#include "late_copies.hpp"
#include "live_contexts.hpp"
#include "mapped_memory.hpp"
#include "outcome.hpp"
#include "outside_memory.hpp"
#include "outside_words.hpp"
#include "pointer_tables.hpp"
#include "program_pools.hpp"
#include "retired_heaps.hpp"
#include "shared_blocks.hpp"
#include "tensor_maps.hpp"
#include "true_driver.hpp"
#include "unfinished_uses.hpp"

namespace tessera::preload {

thread_local constinit bool Entry::inside_ = false;

namespace {

constinit std::atomic<bool> off{false};
constinit std::mutex start_lock;
constinit std::mutex range_lock;
constinit std::mutex ending_lock;  // for destroying the allocator, and for writing at other exits
// The context that was current when Tessera started; its driver calls are made in that context.
constinit std::atomic<CUcontext> home{nullptr};
constinit std::array<std::atomic<CUcontext>, 64> homes{};   // by device
constinit std::array<std::atomic<bool>, 64> for_primary{};  // a helper's context had the device, and gave way

void stop_in_child() {
  off.store(true);
  detail::launch_facts.allocator.store(nullptr);
  tessera_share(nullptr);
  forget_host_blocks();
  forget_control();
}

void finish(tessera_allocator* allocator) {
  if (tessera_finish(allocator) != TESSERA_OK) say("at exit: %s", tessera_last_error());
}

void write_at_an_end() {
  const std::lock_guard<std::mutex> lock(ending_lock);
  if (tessera_allocator* const allocator = running()) finish(allocator);
}

void finish_at_exit() {
  stop_control();
  stop_sharing();
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator != nullptr && !entry.nested()) finish(allocator);
  forget_endings();
}

// Whether anything has to be written at exit.
bool has_outputs(const tessera_options* options) {
  char name[2] = "";
  for (const char* const option : {"stats", "timeline", "history", "trace"}) {
    // A value too long for the buffer is a name as well.
    if (tessera_options_get(options, option, name, sizeof(name)) != TESSERA_OK || name[0] != '\0') return true;
  }
  return false;
}

std::uint64_t devices_of(tessera_allocator* allocator) {
  tessera_stats stats{};
  stats.size = sizeof(stats);
  return tessera_get_stats(allocator, &stats) == TESSERA_OK ? stats.devices : 0;
}

// Makes the hooks forget the process's Tessera. Its blocks are kept.
void put_away(tessera_allocator* allocator) {
  for (std::atomic<CUcontext>& known : homes) known.store(nullptr);
  stop_control();
  stop_sharing();
  finish(allocator);
  tessera_share(nullptr);
  pointer_tables().forget_all();
  program_pools().forget_blocks();
  handed_addresses().forget_all();
  tensor_maps().forget_all();
  forget_mapped();
  outside_words().forget_all();
  late_copies().forget_all();
  unfinished_uses().end_all();
  forget_endings();
  {
    const std::lock_guard<std::mutex> lock(ending_lock);
    detail::launch_facts.allocator.store(nullptr);
  }
  detail::launch_facts.several.store(false);
  detail::launch_facts.has_gaps.store(false);
  detail::launch_facts.range_high.store(0);
  detail::launch_facts.range_low.store(0);
}

void* resolve(const char* name, void*) { return true_symbol(name); }

// `folder` receives the folder of the control socket.
template <std::size_t kSize>
tessera_result create(tessera_allocator** allocator, char (&folder)[kSize], bool& outputs) {
  if (true_driver().cuFuncGetParamInfo == nullptr) return TESSERA_NOT_SUPPORTED;
  tessera_options* options = nullptr;
  tessera_result result = tessera_options_create(&options);
  if (result == TESSERA_OK) result = tessera_options_set_resolver(options, resolve, nullptr);
  if (result == TESSERA_OK) result = tessera_options_get(options, "control-dir", folder, kSize);
  outputs = result == TESSERA_OK && has_outputs(options);
  if (result == TESSERA_OK) result = tessera_allocator_create(options, allocator);
  tessera_options_destroy(options);
  return result;
}

const char* reason_of_failure() {
  if (true_driver().cuFuncGetParamInfo == nullptr) {
    return "the driver is older than CUDA 12.4, so all calls go to it; `tessera doctor` says what is missing";
  }
  return tessera_last_error();
}

// Invalid options leave the program alone as well.
bool is_switched_off() {
  static const bool switched_off = [] {
    tessera_options* options = nullptr;
    char told[16] = "";
    const bool known = tessera_options_create(&options) == TESSERA_OK &&
                       tessera_options_get(options, "off", told, sizeof(told)) == TESSERA_OK;
    tessera_options_destroy(options);
    return !known || std::string_view(told) == "true";
  }();
  return switched_off;
}

void register_handlers_once() {
  static constinit std::atomic<bool> done{false};
  if (done.exchange(true)) return;
  pthread_atfork(nullptr, nullptr, stop_in_child);
  std::atexit(finish_at_exit);
  std::at_quick_exit(finish_at_exit);
}

}  // namespace

tessera_allocator* started() {
  if (tessera_allocator* const allocator = running()) return allocator;
  if (off.load()) return nullptr;
  const std::lock_guard<std::mutex> lock(start_lock);
  if (tessera_allocator* const allocator = running()) return allocator;
  if (off.load()) return nullptr;
  register_handlers_once();
  CUcontext context = nullptr;
  (void)call_true(&TrueDriver::cuCtxGetCurrent, &context);
  home.store(context);
  tessera_allocator* allocator = nullptr;
  char folder[PATH_MAX] = "";
  bool outputs = false;
  if (create(&allocator, folder, outputs) != TESSERA_OK) {
    off.store(true);
    say("not in use: %s", reason_of_failure());
    return nullptr;
  }
  detail::launch_facts.allocator.store(allocator, std::memory_order_release);
  driver_amounts().tell(allocator);
  outside_memory().tell(allocator);
  tessera_share(allocator);
  start_control(folder);
  if (outputs && !await_endings(write_at_an_end))
    say("no output files if a signal ends the program: cannot create a thread");
  return allocator;
}

bool works_or_will() {
  const tessera_result attended = attend();
  return attended == TESSERA_OK || (attended == TESSERA_NOT_READY && !is_switched_off());
}

bool stays_out() { return off.load() || true_driver().cuFuncGetParamInfo == nullptr; }

bool in_a_heap(CUdeviceptr address) {
  tessera_allocator* const allocator = running();
  return allocator != nullptr && tessera_manages(allocator, address) != 0 && !foreign_ranges().holds(address);
}

bool find_block(CUdeviceptr address, tessera_block_info& block) {
  block = {};
  block.size = sizeof(block);
  return running() != nullptr && tessera_query(running(), address, &block) == TESSERA_OK;
}

CUcontext active_primary(CUdevice device) {
  unsigned flags = 0;
  int active = 0;
  CUcontext primary = nullptr;
  if (call_true(&TrueDriver::cuDevicePrimaryCtxGetState, device, &flags, &active) != CUDA_SUCCESS || active == 0 ||
      call_true(&TrueDriver::cuDevicePrimaryCtxRetain, &primary, device) != CUDA_SUCCESS) {
    return nullptr;
  }
  (void)call_true(&TrueDriver::cuDevicePrimaryCtxRelease_v2, device);
  return primary;
}

bool is_home(CUdevice device, CUcontext context) {
  if (device < 0 || static_cast<std::size_t>(device) >= homes.size()) return true;
  std::atomic<CUcontext>& known = homes[static_cast<std::size_t>(device)];
  CUcontext first = known.load();
  if (first == nullptr && for_primary[static_cast<std::size_t>(device)].load() && context != active_primary(device)) {
    return false;
  }
  if (first == nullptr && known.compare_exchange_strong(first, context)) return true;
  return first == context;
}

std::optional<CurrentContext> current_context() {
  [[gnu::tls_model("initial-exec")]] static thread_local constinit CUdevice latest = 0;
  CurrentContext here{latest, nullptr};
  if (call_true(&TrueDriver::cuCtxGetCurrent, &here.context) != CUDA_SUCCESS || here.context == nullptr) {
    return std::nullopt;
  }
  if (home_of(latest) == here.context) [[likely]]
    return here;
  if (call_true(&TrueDriver::cuCtxGetDevice, &here.device) != CUDA_SUCCESS) return std::nullopt;
  latest = here.device;
  return here;
}

CUcontext home_of(CUdevice device) {
  const bool known = device >= 0 && static_cast<std::size_t>(device) < homes.size();
  return known ? homes[static_cast<std::size_t>(device)].load() : nullptr;
}

// Two devices may be used for the first time concurrently; the last call publishes both. The range is read before the
// device count: the statistics wait for a device under construction, and so include every device in the range.
void learn_range(tessera_allocator* allocator) {
  tessera_address low = 0;
  tessera_address high = 0;
  tessera_managed_range(allocator, &low, &high);
  if (low == detail::launch_facts.range_low.load() && high == detail::launch_facts.range_high.load()) return;
  // If another interface in this process used the device first, no hook has asked for its home context yet.
  CUdevice device = -1;
  CUcontext context = nullptr;
  if (call_true(&TrueDriver::cuCtxGetDevice, &device) == CUDA_SUCCESS &&
      call_true(&TrueDriver::cuCtxGetCurrent, &context) == CUDA_SUCCESS) {
    (void)is_home(device, context);
  }
  const std::lock_guard<std::mutex> lock(range_lock);
  tessera_managed_range(allocator, &low, &high);
  detail::launch_facts.several.store(devices_of(allocator) > 1);
  if (several_devices()) detail::launch_facts.has_gaps.store(true);
  detail::launch_facts.range_low.store(low);
  detail::launch_facts.range_high.store(high);
}

// Whether every heap is a helper's, and the framework whose primary context this is needs their devices. A device that
// no helper uses is no reason as long as a helper's device has no primary context: the program may use that one as it
// is.
bool gives_way(CUdevice device, CUcontext context) {
  if (context != active_primary(device) || has_host_blocks()) return false;
  const bool is_used = home_of(device) != nullptr;
  bool any = false;
  for (std::size_t other = 0; other < homes.size(); ++other) {
    const CUcontext its = homes[other].load();
    if (its == nullptr) continue;
    const CUcontext primary = active_primary(static_cast<CUdevice>(other));
    if (its == primary || (!is_used && primary == nullptr)) return false;
    any = true;
  }
  return any;
}

bool take_home(CUdevice device, CUcontext context) {
  if (home_of(device) == context) return true;
  const std::lock_guard<std::mutex> lock(start_lock);
  tessera_allocator* const allocator = running();
  if (allocator == nullptr || !gives_way(device, context)) return is_home(device, context);
  if (keep_all_in(allocator) != TESSERA_OK) return is_home(device, context);
  std::vector<RetiredContext> former;
  for (std::size_t other = 0; other < homes.size(); ++other) {
    const CUcontext its = homes[other].load();
    if (its == nullptr) continue;
    former.push_back({static_cast<CUdevice>(other), its});
    for_primary[other].store(true);
    say("device %d: switching to the primary context; blocks of the previous context stay in "
        "device memory",
        static_cast<int>(other));
  }
  put_away(allocator);
  retire(allocator, std::move(former));
  return is_home(device, context);
}

void leave_context(CUcontext context) {
  end_retired(context);
  forget_context(context);
  driver_amounts().forget(context);
  outside_memory().context_ends(context);
  tessera_allocator* const allocator = running();
  if (allocator == nullptr) return;
  const Entry entry;
  if (entry.nested()) return;
  (void)InContext(context).finish();
  unfinished_uses().end_finished();
  end_host_blocks(context, allocator);
  bool was_home = false;
  bool is_last = true;
  for (std::atomic<CUcontext>& known : homes) {
    CUcontext its = context;
    if (known.compare_exchange_strong(its, nullptr)) {
      was_home = true;
    } else {
      is_last = is_last && its == nullptr;
    }
  }
  // Blocks of other devices must stay; the context in which Tessera started may belong to no managed device.
  const bool alone = context == home.load() && devices_of(allocator) <= 1;
  if (!alone && !(was_home && is_last)) return;
  put_away(allocator);
  tessera_allocator_destroy(allocator);
}

// TESSERA_OK if Tessera runs here and the hooks know all of its addresses.
tessera_result attend() {
  if (off.load()) return TESSERA_NOT_SUPPORTED;
  const Entry entry;
  const InPrimary in_primary;
  tessera_allocator* allocator = running();
  if (allocator == nullptr) {
    CUcontext context = nullptr;
    const CUresult asked = call_true(&TrueDriver::cuCtxGetCurrent, &context);
    if (asked != CUDA_SUCCESS || context == nullptr) return TESSERA_NOT_READY;
    allocator = started();
  }
  if (allocator == nullptr) return TESSERA_NOT_SUPPORTED;
  learn_range(allocator);
  return TESSERA_OK;
}

}  // namespace tessera::preload

// Called by tessera_shared() for the other interfaces in this process.
extern "C" __attribute__((visibility("default"))) tessera_result tessera_preload_attend(void) {
  return tessera::preload::attend();
}
