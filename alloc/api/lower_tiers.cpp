#include "api/lower_tiers.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "api/budgets.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

// Where the budget is shared, the reserves of several programs come out of it.
constexpr std::uint64_t kSharedReserves = 4;
// Of a budget that is shared, the part that a reserve is taken from; what is larger, on a small budget, is beside it.
constexpr std::uint64_t kKeptForStaging = 8;

std::string no_host_frames(const DeviceProperties& of) {
  return fmt::format("host memory cannot be mapped at device addresses of {}{}{}", of.name,
                     of.host_frames_problem.empty() ? "" : ": ", of.host_frames_problem);
}

}  // namespace

LowerTiers::LowerTiers(Driver& driver, std::unique_ptr<FileTier> file, HostPages& pages, std::vector<Loan> loans,
                       const Options& options, const Clock& clock, bool grows)
    : driver_(driver), options_(options), grows_(grows), file_(std::move(file)) {
  open_host(pages, clock);
  host_->on_shortage([blocks = host_memory_.get()] { blocks->trim(); });
  if (grows) host_->grow_in_background();
  // Which device lends, and whether another can borrow, depends on how many devices this process sees.
  loans = loans_between(std::move(loans), driver.device_count());
  if (!loans.empty()) peer_ = std::make_unique<PeerTier>(driver, std::move(loans));
}

void LowerTiers::open_host(HostPages& pages, const Clock& clock) {
  host_pages_ = std::make_unique<RegisteredPages>(pages, *file_);
  if (grows_) node_ = NodeMemory::open(options_, clock);
  if (node_) node_->cover(*file_);
  const bool shared = node_ && node_->shares_host();
  const Bytes host = shared ? node_->host_limit() : host_budget(options_);
  const Bytes blocks = pinned_budget(options_, host);
  staging_ = HostTier::staging_for(shared ? host / kSharedReserves : host, file_->usage().capacity);
  if (shared) {
    node_pages_ = std::make_unique<NodeHostPages>(*host_pages_, node_->host());
    node_block_pages_ = std::make_unique<NodeHostPages>(shared_host_pages(), node_->host());
  }
  host_ = std::make_unique<HostTier>(driver_, host, staging_, *host_pages_, node_pages_.get());
  HostPages& block_pages = shared ? *node_block_pages_ : shared_host_pages();
  host_memory_ = std::make_unique<HostMemory>(driver_, *host_, blocks, block_pages);
}

void LowerTiers::note_staging() {
  if (node_pages_) node_pages_->keep(std::min(staging_, node_->host_limit() / kKeptForStaging));
}

Result<BackingTier*> LowerTiers::choose_backing(DeviceId device) {
  if (options_.unhinted_access != "host-backed") return nullptr;
  TESSERA_TRY_ASSIGN(const DeviceProperties properties, driver_.properties(device));
  const Bytes capacity = host_->usage().capacity;
  std::string reason;
  if (!properties.host_frames) {
    reason = no_host_frames(properties);
  } else if (file_->usage().capacity != Bytes()) {
    reason = "a spill file cannot be mapped at a device address";
  } else if (peer_ != nullptr) {
    reason = "it cannot be combined with peer-memory";
  } else if (capacity < 2 * kBasePage) {
    reason = "there is no host memory to map";
  }
  if (!reason.empty()) return Status(Code::kNotSupported, fmt::format("unhinted-access host-backed: {}", reason));
  if (backing_ == nullptr) {
    backing_ = std::make_unique<BackingTier>(driver_, device, capacity);
    if (grows_) backing_->grow_in_background();
  } else {
    TESSERA_TRY(backing_->admit(device));
  }
  return backing_.get();
}

Result<LowerTiers::ZeroCopy> LowerTiers::zero_copy_for(DeviceId device) {
  if (backing_ != nullptr) return ZeroCopy{nullptr, "pages are host-backed"};
  if (host_->usage().capacity < kBasePage) return ZeroCopy{nullptr, "there is no host memory to map"};
  TESSERA_TRY_ASSIGN(const DeviceProperties properties, driver_.properties(device));
  if (!properties.host_frames) return ZeroCopy{nullptr, no_host_frames(properties)};
  if (zero_copy_ == nullptr) {
    zero_copy_ = std::make_unique<ZeroCopyTier>(driver_, device, *host_);
  } else {
    TESSERA_TRY(zero_copy_->admit(device));
  }
  return ZeroCopy{zero_copy_.get(), {}};
}

Bytes LowerTiers::to_lend(DeviceId device) {
  if (peer_ == nullptr) return {};
  peer_->settle(device);
  return peer_->to_come_from(device);
}

PeerTier* LowerTiers::peer_for(DeviceId device) const {
  if (peer_ == nullptr || peer_->lends(device)) return nullptr;
  const Status admitted = peer_->try_admit(device);
  if (admitted.is_ok()) return peer_.get();
  log_line(LogLevel::kWarning, "device {} does not use peer memory: {}", device.value(), admitted.to_string());
  return nullptr;
}

void LowerTiers::trim_loans() {
  if (peer_ != nullptr) peer_->trim();
}

}  // namespace tessera
