#include "node/ledger.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <xxhash.h>

#include "base/log.hpp"

namespace tessera {
namespace {

constexpr LedgerRow kFree{};

std::span<const std::byte> bytes_of(const LedgerRow& row) { return std::as_bytes(std::span(&row, 1)); }

bool same(const LedgerRow& a, const LedgerRow& b) { return std::memcmp(&a, &b, sizeof(LedgerRow)) == 0; }

Status no_ledger() { return Status(Code::kDataLoss, "the file is not a ledger of this version, or damaged"); }

bool is_over(const LedgerRow& row, const ProcessId& self, Nanoseconds now) {
  switch (life_of(row.process(), self)) {
    case Life::kAlive: return false;
    case Life::kDead: return true;
    case Life::kUnknown:
      return std::max(now, Nanoseconds(row.seen_ns)) - std::min(now, Nanoseconds(row.seen_ns)) > Ledger::kUnseen;
  }
  return false;
}

using IsChosen = std::function<bool(const LedgerRow&)>;

// A row that is not over, among those chosen.
bool has_row(std::span<const std::byte> file, const ProcessId& self, Nanoseconds now, const IsChosen& is_chosen) {
  for (std::size_t i = 0; i < kLedgerRows; ++i) {
    const auto row = read_row(file, i);
    if (row && is_chosen(*row) && !is_over(*row, self, now)) return true;
  }
  return false;
}

// Cut at the size of `to`.
void copy_printable(std::string_view text, std::span<char> to) {
  for (std::size_t i = 0; i < std::min(text.size(), to.size()); ++i) {
    to[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
  }
}

// Never 0, which stands for no job. Jobs of different users are different ones: launchers number them alike.
std::uint64_t job_number(std::string_view job) {
  return std::max(std::uint64_t{1}, std::uint64_t{XXH3_64bits_withSeed(job.data(), job.size(), ::geteuid())});
}

// Unlocks the file at the end of the scope.
class Unlock {
 public:
  explicit Unlock(LedgerFile& file) : file_(file) {}
  ~Unlock() { file_.unlock(); }
  Unlock(const Unlock&) = delete;
  Unlock& operator=(const Unlock&) = delete;

 private:
  LedgerFile& file_;
};

}  // namespace

Bytes Books::held(NodeResource resource) const {
  Bytes sum;
  for (const LedgerRow& row : rows) sum += Bytes(row.of(resource).held);
  return sum;
}

Entitlement Books::entitlement(NodeResource resource) const {
  std::vector<Claimant> claimants;
  for (const LedgerRow& row : rows) {
    const LedgerAmount& amount = row.of(resource);
    claimants.push_back({Bytes(amount.held), Bytes(amount.wanted), row.weight, row.job});
  }
  return tessera::entitlement(header.budget(resource), claimants, own);
}

Result<std::optional<NodeBudgets>> budgets_in_force(LedgerFile& file) {
  TESSERA_TRY(file.lock(Ledger::kPatience));
  const Unlock unlock(file);
  std::vector<std::byte> bytes(kLedgerBytes);
  TESSERA_TRY_ASSIGN(const std::size_t size, file.read(bytes));
  if (size == 0) {  // it was made by lock()
    TESSERA_TRY(file.remove());
    return std::optional<NodeBudgets>();
  }
  const std::span<const std::byte> all = std::span(bytes).first(size);
  const auto header = read_header(all);
  if (!header) return no_ledger();
  const ProcessId self = this_process();
  for (std::size_t i = 0; i < kLedgerRows; ++i) {
    const auto row = read_row(all, i);
    if (!row || life_of(row->process(), self) == Life::kDead) continue;
    NodeBudgets budgets;
    for (std::size_t each = 0; each < budgets.size(); ++each) budgets[each] = Bytes(header->budgets[each]);
    return std::optional(budgets);
  }
  return std::optional<NodeBudgets>();
}

Status remove_if_ended(LedgerFile& file, const Clock& clock) {
  TESSERA_TRY(file.lock(std::chrono::milliseconds(0)));
  const Unlock unlock(file);
  std::vector<std::byte> bytes(kLedgerBytes);
  TESSERA_TRY_ASSIGN(const std::size_t size, file.read(bytes));
  const std::span<const std::byte> all = std::span(bytes).first(size);
  const bool is_ours = all.empty() || read_header(all);
  const auto any = [](const LedgerRow&) { return true; };
  return !is_ours || has_row(all, this_process(), clock.now(), any) ? Status() : file.remove();
}

void remove_ended_ledgers(const std::vector<std::string>& parents, const Clock& clock) {
  for (const auto& file : all_ledger_files(parents)) {
    const Status removed = remove_if_ended(*file, clock);
    if (!removed.is_ok()) log_line(LogLevel::kDebug, "a ledger stays: {}", removed.to_string());
  }
}

Ledger::Ledger(std::unique_ptr<LedgerFile> file, const Clock& clock, Self self, NodeBudgets budgets)
    : file_(std::move(file)), clock_(clock), self_(std::move(self)), budgets_(budgets) {}

Ledger::~Ledger() {
  const MutexLock lock(mutex_);
  if (last_.is_free() || ::getpid() != self_.process.pid || !file_->lock(kPatience).is_ok()) return;
  const Unlock unlock(*file_);
  std::vector<std::byte> bytes(kLedgerBytes);
  const auto size = file_->read(bytes);
  const std::span<const std::byte> file = std::span(bytes).first(size.is_ok() ? size.value() : 0);
  auto header = read_header(file);
  if (!header) return;
  const auto is_other = [this](const LedgerRow& row) { return !is_own(row); };
  if (!has_row(file, self_.process, clock_.now(), is_other)) {
    const Status removed = file_->remove();
    if (removed.is_ok()) return;
    log_line(LogLevel::kDebug, "the ledger stays, without programs: {}", removed.to_string());
  }
  for (std::size_t i = 0; i < kLedgerRows; ++i) {
    const auto row = read_row(file, i);
    if (!row || !is_own(*row)) continue;
    Status left = note_spent(*header, *row);
    if (left.is_ok()) left = write_row(i, kFree);
    if (!left.is_ok()) {
      log_line(LogLevel::kDebug, "the ledger keeps a row until it is swept: {}", left.to_string());
    }
  }
}

bool Ledger::has_joined() const {
  const MutexLock lock(mutex_);
  return !last_.is_free();
}

Status Ledger::transact(const std::function<void(Books&)>& act) {
  const MutexLock lock(mutex_);
  if (::getpid() != self_.process.pid)
    return Status(Code::kNotSupported, "the row in the ledger belongs to the parent process");
  TESSERA_TRY(file_->lock(kPatience));
  const Unlock unlock(*file_);
  return update(act);
}

Status Ledger::update(const std::function<void(Books&)>& act) {
  std::vector<std::byte> bytes(kLedgerBytes);
  TESSERA_TRY_ASSIGN(const std::size_t size, file_->read(bytes));
  const std::span<const std::byte> file = std::span(bytes).first(size);
  const Nanoseconds now = clock_.now();
  Books books;
  std::optional<std::size_t> own_place, free_place;
  std::vector<std::size_t> over;
  for (std::size_t i = 0; i < kLedgerRows; ++i) {
    const auto row = read_row(file, i);
    if (row && is_over(*row, self_.process, now)) {
      over.push_back(i);
    } else if (row && is_own(*row) && !own_place) {
      own_place = i;
      continue;
    } else if (row) {
      books.rows.push_back(*row);
      continue;
    }
    if (!free_place) free_place = i;
  }
  TESSERA_TRY_ASSIGN(books.header, header_of(file, books.rows.empty() && !own_place));
  for (const std::size_t i : over) {
    TESSERA_TRY(note_spent(books.header, *read_row(file, i)));
    TESSERA_TRY(write_row(i, kFree));
  }
  if (!own_place) own_place = free_place;
  if (!own_place) return Status(Code::kOutOfMemory, "the ledger has no row left");
  // The own row as this process knows it, whatever the file says.
  books.own = books.rows.size();
  books.rows.push_back(last_.is_free() ? fresh_row() : last_);
  const LedgerRow found = *own_place != free_place ? read_row(file, *own_place).value_or(kFree) : kFree;
  if (!found.is_free()) {
    books.own_row().weight = found.weight;
    books.own_row().limit_set = found.limit_set;
  }
  act(books);
  LedgerRow row = books.own_row();
  const bool in_file = !last_.is_free() && same(last_, found);
  row.seen_ns = last_.seen_ns;
  seal(row);
  if (in_file && same(row, last_) && now < Nanoseconds(last_.seen_ns) + kBetweenSigns) return {};
  row.seen_ns = now.value();
  seal(row);
  TESSERA_TRY(write_row(*own_place, row));
  last_ = row;
  return {};
}

// An empty file is a new one. The first program, and the first after all others have ended, sets the budgets; what it
// has no budget for, the first that has one.
Result<LedgerHeader> Ledger::header_of(std::span<const std::byte> file, bool is_first) {
  const auto known = read_header(file);
  if (!file.empty() && !known) return no_ledger();
  LedgerHeader header = known && !is_first ? *known : LedgerHeader{};
  bool changed = !known || is_first;
  for (std::size_t i = 0; i < kNodeResources; ++i) {
    if (header.budgets[i] != 0 || !budgets_[i]) continue;
    header.budgets[i] = budgets_[i].value();
    changed = true;
  }
  if (!changed) return header;
  seal(header);
  TESSERA_TRY(file_->write(0, std::as_bytes(std::span(&header, 1))));
  return header;
}

// Before the row is freed: a process that is killed in between counts twice rather than not at all.
Status Ledger::note_spent(LedgerHeader& header, const LedgerRow& ended) {
  const std::uint64_t written = ended.of(NodeResource::kFileWrites).held;
  if (written == 0) return {};
  header.spent_writes = std::min(header.spent_writes + written, kMostNodeBytes.value());
  seal(header);
  return file_->write(0, std::as_bytes(std::span(&header, 1)));
}

LedgerRow Ledger::fresh_row() const {
  LedgerRow row;
  row.pid = self_.process.pid;
  row.started = self_.process.started;
  row.pid_namespace = self_.process.pid_namespace;
  row.weight = self_.weight;
  row.instance = reinterpret_cast<std::uint64_t>(this);
  copy_printable(self_.name, row.name);
  if (!self_.job.empty()) row.job = job_number(self_.job);
  copy_printable(self_.job, row.job_name);
  return row;
}

bool Ledger::is_own(const LedgerRow& row) const {
  return row.process() == self_.process && row.instance == reinterpret_cast<std::uint64_t>(this);
}

Status Ledger::write_row(std::size_t index, const LedgerRow& row) {
  return file_->write(row_offset(index), bytes_of(row));
}

}  // namespace tessera
