#include "api/device_share.hpp"

#include <errno.h>

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "api/budgets.hpp"
#include "api/pump.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kWhileContended{20};
constexpr Nanoseconds kBetweenAsks{5'000'000};
constexpr Nanoseconds kBetweenPieces{300'000};
constexpr Nanoseconds kBetweenPeaks{1'000'000'000};
constexpr Nanoseconds kPeriod{125'000'000};
constexpr Nanoseconds kLongestShedding{500'000'000};  // then the pump has other work too

void report_alone(LogLevel level, std::string_view why) {
  log_line(level, "device memory is not shared with other programs: {}", why);
}

}  // namespace

std::unique_ptr<DeviceShare> DeviceShare::open(const Options& options, LedgerAccess& ledgers, Driver& driver,
                                               DeviceId device, const DeviceProperties& properties) {
  if (options.node == "off" || options.share == "off") return nullptr;
  if (properties.uuid.empty()) {
    report_alone(LogLevel::kInfo, "the driver does not identify the device");
    return nullptr;
  }
  auto file = ledgers.open(options, properties.uuid);
  if (!file.is_ok()) {
    const auto level = file.status().code() == Code::kNotFound ? LogLevel::kInfo : LogLevel::kWarning;
    report_alone(level, file.status().message());
    return nullptr;
  }
  std::unique_ptr<DeviceShare> made(
      new DeviceShare(file.take(), options, ledgers, driver, device, properties.total_memory));
  bool others = false;
  const Status joined = made->ledger_.transact([&](Books& books) { others = books.rows.size() > 1; });
  if (!joined.is_ok() && joined.code() != Code::kBusy) {
    report_alone(LogLevel::kWarning, joined.message());
    return nullptr;
  }
  made->others_.store(others || options.share == "on");
  return made;
}

DeviceShare::DeviceShare(std::unique_ptr<LedgerFile> file, const Options& options, LedgerAccess& ledgers,
                         Driver& driver, DeviceId device, Bytes total)
    : ledgers_(ledgers),
      clock_(ledgers.clock()),
      driver_(driver),
      device_(device),
      total_(total),
      reserve_(context_reserve(total)),
      slice_(Nanoseconds(std::uint64_t{options.time_slice} * 1'000'000)),
      ledger_(std::move(file), clock_,
              Ledger::Self{ledgers.process(), options.node_weight, program_invocation_short_name},
              {Bytes(), Bytes(), total}) {}

void DeviceShare::attach(DeviceTier& tier, Residency& residency, Bytes most) {
  tier_ = &tier;
  residency_ = &residency;
  limit_ = tier.limit();
  most_ = std::max(most, limit_);
}

// Memory that no row has, such as contexts, is the least that was seen for a second: what another program has taken
// since it last looked is in no row until it looks again.
Bytes DeviceShare::budget(const Books& books, const MemoryInfo& memory) {
  const Bytes known = memory.free + books.held(NodeResource::kDevice);
  const Bytes outside = total_ - std::min(total_, known);
  const std::uint64_t period = clock_.now() / kPeriod;
  Bytes& least = outside_[period % outside_.size()];
  least = std::exchange(period_, period) == period ? std::min(least, outside) : outside;
  const Bytes taken = *std::ranges::min_element(outside_) + reserve_;
  return total_ - std::min(total_, taken);
}

// Most programs free and allocate in each iteration. One that told only what it uses now would be given the rest of its
// turn's memory launch by launch, and would wait for each.
Bytes DeviceShare::recent_peak(Bytes uses) {
  const Nanoseconds now = clock_.now();
  if (now >= next_peak_ && waiting_.load() == 0) {
    newest_peak_ = (newest_peak_ + 1) % peaks_.size();
    peaks_[newest_peak_] = {};
    next_peak_ = now + kBetweenPeaks;
  }
  peaks_[newest_peak_] = std::max(peaks_[newest_peak_], uses);
  return *std::ranges::max_element(peaks_);
}

// A program that has used more in the last seconds than in any before may go on so.
bool DeviceShare::grows() const {
  const std::size_t before = (newest_peak_ + peaks_.size() - 1) % peaks_.size();
  const Bytes latest = std::max(peaks_[newest_peak_], peaks_[before]);
  for (std::size_t i = 0; i < peaks_.size(); ++i) {
    if (i != newest_peak_ && i != before && peaks_[i] >= latest) return false;
  }
  return true;
}

Result<DeviceShare::Facts> DeviceShare::facts(Bytes missing) const {
  const TierUsage usage = tier_->usage();
  Facts facts{.used = usage.used,
              .held = usage.used + usage.spare,
              .limit = limit_,
              .uses = {},
              .wanted = {},
              .fetched = {},
              .in_rate = residency_->yields().in_rate(),
              .memory = {}};
  facts.uses = std::max(residency_->figures().live_bytes(), usage.used + missing);
  TESSERA_TRY_ASSIGN(facts.memory, driver_.memory_info(device_));
  return facts;
}

std::vector<DeviceClaimant> DeviceShare::write_row(Books& books, Facts& facts, Nanoseconds now) {
  LedgerRow& own = books.own_row();
  own.limit = facts.limit.value();
  if (own.limit_set != 0) facts.limit = std::min(most_, Bytes(own.limit_set));
  facts.wanted = std::min(facts.limit, facts.wanted);
  own.of(NodeResource::kDevice) = {facts.held.value(), facts.wanted.value()};
  own.ahead = grows() ? (total_ / kAheadOfGrowth).value() : 0;
  own.waited_ns = waited_.load();
  own.active_ns = active_.value();
  own.waits_ns = waiting_.load() != 0 ? now.value() : 0;
  std::vector<DeviceClaimant> claimants;
  for (const LedgerRow& row : books.rows) claimants.push_back(DeviceClaimant::of(row, now));
  return claimants;
}

DeviceShare::View DeviceShare::decide(Books& books, Facts facts) {
  View view = decide_among(books, facts);
  books.own_row().ceiling = view.ceiling.value();
  return view;
}

DeviceShare::View DeviceShare::decide_among(Books& books, Facts& facts) {
  const Nanoseconds now = clock_.now();
  std::vector<DeviceClaimant> claimants = write_row(books, facts, now);
  View view;
  view.limit = view.ceiling = facts.limit;
  view.others = books.rows.size() > 1;
  books.own_row().budget = 0;
  if (!view.others) return view;
  const Bytes all = budget(books, facts.memory);
  books.own_row().budget = all.value();
  const Turns turns = slice_ == Nanoseconds() ? Turns::kNone : Turns::kOneAtATime;
  DeviceShares shares = device_shares(all, claimants, turns);
  LedgerRow& own = books.own_row();
  if (turns != Turns::kNone && waiting_.load() != 0 && may_begin_turn(shares, claimants, books.own, now)) {
    own.turn_ns = now.value();
    own.slice_ns = slice_.value();
    ++own.turns;
    turns_.store(own.turns);
    lost_ = Nanoseconds();
    lost_until_ = now;
    fetched_before_ = facts.fetched;
    claimants[books.own].turn = now;
    shares = device_shares(all, claimants, turns);
  }
  view.ceiling = std::min(facts.limit, shares.ceiling(all, books.own));
  view.owed = shares.owed(all, claimants, books.own);
  view.contended = shares.contended;
  view.has_turn = shares.holder == books.own;
  view.must_wait = shares.contended && turns != Turns::kNone && !view.has_turn;
  if (view.has_turn) lengthen_turn(own, view, facts);
  return view;
}

// What a change of turns costs is the waits for what others give back, and the copies of the program's bytes. A program
// that has more than it may hold copies on and on: each byte of the device counts once.
void DeviceShare::lengthen_turn(LedgerRow& own, const View& view, const Facts& facts) {
  const Bytes all = std::min(facts.wanted, view.ceiling), loaded = std::min(all, facts.fetched - fetched_before_);
  Nanoseconds cost = lost_;
  const Nanoseconds longest = std::max(kLongestTurn, slice_);
  if (facts.in_rate > 0) {
    const double copies = static_cast<double>(loaded.value()) / facts.in_rate * 1e9;
    cost += Nanoseconds(static_cast<std::uint64_t>(std::min(copies, static_cast<double>(longest.value()))));
  }
  const Nanoseconds worthwhile = std::min(cost * kUseOfATurn, longest);
  own.slice_ns = std::max(Nanoseconds(own.slice_ns), worthwhile).value();
}

// Threads that wait at the same time lose that time once.
void DeviceShare::note_lost(Nanoseconds since, Nanoseconds now) {
  const MutexLock lock(mutex_);
  since = std::max(since, lost_until_);
  if (now <= since) return;
  lost_ += now - since;
  lost_until_ = now;
}

// If the program wanted all that it may have. Nothing is written.
DeviceShare::View DeviceShare::imagine(Books books, Facts facts) {
  facts.wanted = most_;
  std::vector<DeviceClaimant> claimants = write_row(books, facts, clock_.now());
  claimants[books.own].active = true;
  const Bytes all = budget(books, facts.memory);
  const DeviceShares shares = device_shares(all, claimants, Turns::kNone);
  View view;
  view.limit = facts.limit;
  view.ceiling = std::min(facts.limit, shares.ceiling(all, books.own));
  view.others = books.rows.size() > 1;
  return view;
}

Result<DeviceShare::View> DeviceShare::exchange(Bytes missing, Wants wants) {
  TESSERA_TRY_ASSIGN(Facts known, facts(missing));
  const auto progress = residency_->figures().progress();
  known.fetched = progress.fetched;
  const MutexLock lock(mutex_);
  known.wanted = recent_peak(known.uses);
  if (!(progress == std::exchange(progress_, progress))) active_ = clock_.now();
  View view;
  TESSERA_TRY(ledger_.transact([&](Books& books) REQUIRES_LOCK(mutex_) {
    view = wants == Wants::kAllItMay ? imagine(books, known) : decide(books, known);
  }));
  if (wants == Wants::kAllItMay) return view;
  others_.store(view.others);
  contended_.store(view.contended);
  return view;
}

void DeviceShare::note_failure(const Status& status) {
  if (status.code() == Code::kBusy || failed_.exchange(true)) return;
  if (driver_has_ended(status)) return;
  report_alone(LogLevel::kWarning, status.to_string());
}

// A limit above that of the options has to be the tier's before the ceiling can rise to it. A fetch sees one ceiling
// from its beginning to its end.
void DeviceShare::apply(const View& view) {
  tier_->set_limit(std::max(limit_, view.limit));
  residency_->yields().set_ceiling(view.ceiling);
}

bool DeviceShare::before_fetch(Bytes needed, Bytes missing) {
  if (!has_others() || !missing || failed_.load()) return false;
  const auto fits = [&] {
    const TierUsage usage = tier_->usage();
    return usage.capacity >= needed && usage.room() >= missing;
  };
  if (!contended_.load(std::memory_order_relaxed) && fits()) return true;
  const Nanoseconds begin = clock_.now();
  waiting_.fetch_add(1);
  Nanoseconds last = begin;  // when something was last given back
  Bytes owed{~std::uint64_t{0}};
  bool waits = false;  // for its turn, since the last look
  for (Nanoseconds looked = begin;;) {
    const auto view = exchange(missing);
    const Nanoseconds now = clock_.now();
    if (waits) waited_.fetch_add((now - looked).value());
    if (view.is_ok() && view.value().has_turn) note_lost(looked, now);
    waits = view.is_ok() && view.value().must_wait;
    looked = now;
    if (!view.is_ok()) {
      note_failure(view.status());
      if (view.status().code() != Code::kBusy || now > begin + kPatience) break;
    } else if (view.value().must_wait) {
      last = now;
      if (now > begin + kTurnPatience) break;
      if (is_above(view.value().ceiling) && shed(view.value().ceiling, kBetweenAsks)) continue;
    } else {
      if (view.value().ceiling >= tier_->usage().used) apply(view.value());
      tier_->regain(DeviceTier::Ask::kNow);
      if (view.value().owed < owed) last = now;
      owed = view.value().owed;
      const bool suffices = !owed && tier_->usage().capacity >= needed;  // what is missing is this program's own
      const bool never = needed > view.value().limit;
      if (suffices || never || fits() || now > last + kPatience) break;
    }
    ledgers_.pause(kBetweenAsks);
  }
  waiting_.fetch_sub(1);
  return tier_->usage().capacity >= needed;
}

std::chrono::milliseconds DeviceShare::look() {
  if (failed_.load()) {
    tier_->set_limit(limit_);
    residency_->yields().set_ceiling(limit_);
    return Pump::kBetweenLooks;
  }
  const auto view = exchange(Bytes());
  if (!view.is_ok()) {
    note_failure(view.status());
    return Pump::kBetweenLooks;
  }
  const bool gives = is_above(view.value().ceiling);
  if (gives && shed(view.value().ceiling, kLongestShedding)) return kWhileContended;
  if (!gives) apply(view.value());
  return view.value().contended ? kWhileContended : Pump::kBetweenLooks;
}

bool DeviceShare::is_above(Bytes ceiling) const {
  const TierUsage usage = tier_->usage();
  return usage.used + usage.spare > ceiling;
}

// In pieces, each under the engine's lock, so that launches go on between them. False if nothing more can go now.
bool DeviceShare::shed(Bytes ceiling, Nanoseconds time) {
  const Nanoseconds end = clock_.now() + time;
  do {
    const auto left = residency_->yields().shed_device(ceiling, kPiece);
    if (!left.is_ok()) {
      log_line(LogLevel::kDebug, "device memory stays in use: {}", left.status().to_string());
      return false;
    }
    if (!is_above(ceiling)) return true;
    ledgers_.pause(kBetweenPieces);
  } while (clock_.now() < end);
  return true;
}

void DeviceShare::leave() {
  const Status left = ledger_.transact([](Books& books) {
    books.own_row().of(NodeResource::kDevice) = {};
    books.own_row().ahead = 0;
  });
  if (!left.is_ok()) log_line(LogLevel::kDebug, "the ledger of a device keeps a row: {}", left.to_string());
}

std::optional<Bytes> DeviceShare::reach() {
  if (!has_others() || failed_.load()) return std::nullopt;
  const auto view = exchange(Bytes(), Wants::kAllItMay);
  if (!view.is_ok() || !view.value().others) return std::nullopt;
  return view.value().ceiling;
}

}  // namespace tessera
