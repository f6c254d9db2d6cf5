#include "tier/file_tier.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/ranges.h>
#include <fmt_whole.hpp>

#include "base/check.hpp"
#include "base/log.hpp"
#include "base/size_text.hpp"
#include "tier/file_io_choice.hpp"

namespace tessera {
namespace {

std::vector<FileSpace> one_space(std::unique_ptr<FileIo> io, Bytes capacity) {
  std::vector<FileSpace> spaces;
  if (io) spaces.push_back({"", capacity, std::move(io)});
  return spaces;
}

}  // namespace

Result<std::unique_ptr<FileTier>> FileTier::open(std::vector<FileSpace> spaces, Bytes write_budget) {
  std::vector<FileSpace> usable;
  Status last;
  for (FileSpace& space : spaces) {
    if (space.capacity < kBasePage) continue;
    auto io = open_file_io(space.directory, space.capacity);
    if (io.is_ok()) {
      usable.push_back({std::move(space.directory), space.capacity, io.take()});
      continue;
    }
    if (!last.is_ok()) log_text(LogLevel::kWarning, last.message());
    last = io.status();
  }
  if (usable.empty() && !last.is_ok()) return last;
  if (!last.is_ok()) log_text(LogLevel::kWarning, last.message());
  return std::make_unique<FileTier>(std::move(usable), write_budget);
}

std::unique_ptr<FileTier> FileTier::none(std::string why) {
  auto tier = std::make_unique<FileTier>(std::vector<FileSpace>());
  const MutexLock lock(tier->mutex_);
  tier->trouble_ = std::move(why);
  return tier;
}

Result<std::unique_ptr<FileTier>> FileTier::open(const std::string& directory, Bytes capacity) {
  std::vector<FileSpace> spaces;
  spaces.push_back({directory, capacity});
  return open(std::move(spaces));
}

FileTier::FileTier(std::unique_ptr<FileIo> io, Bytes capacity, Checksum checksum)
    : FileTier(one_space(std::move(io), capacity), kNoWriteBudget, std::move(checksum)) {}

FileTier::FileTier(std::vector<FileSpace> spaces, Bytes write_budget, Checksum checksum)
    : checksum_(std::move(checksum)), write_budget_(write_budget) {
  const MutexLock lock(mutex_);
  for (FileSpace& space : spaces) {
    files_.push_back(
        std::make_unique<FileStore>(std::move(space.io), capacity_, space.capacity, std::move(space.directory)));
    capacity_ += files_.back()->capacity();
  }
}

FileTier::~FileTier() {
  const MutexLock lock(mutex_);
  DCHECK_EQ(used_, Bytes());
  DCHECK(moving_.empty());
}

void FileTier::share(FileLease& lease, Bytes most) {
  const MutexLock lock(mutex_);
  DCHECK_EQ(used_, Bytes());
  lease_ = &lease;
  capacity_ = std::min(capacity_, most);
}

Result<Frame> FileTier::take(PageClass page_class) {
  const Bytes bytes = page_bytes(page_class);
  const MutexLock lock(mutex_);
  const auto place = used_ + bytes <= capacity_ && cover(bytes) ? take_place(bytes) : std::nullopt;
  if (place) used_ += bytes;
  uncover();
  if (!place) {
    return Status(Code::kOutOfMemory, fmt::format("file tier: {} bytes requested, {} of {} are in use", bytes.value(),
                                                  used_.value(), capacity_.value()));
  }
  peak_used_ = std::max(peak_used_, used_);
  return Frame{.tier = Location::kFile, .page_class = page_class, .value = place->value()};
}

Bytes FileTier::on_disk() const {
  Bytes bytes = used_;
  for (const auto& file : files_) bytes += file->spare();
  return bytes;
}

// As if all of it were new; uncover() returns what was not, once that is known. Space that is kept for reuse goes back
// to the file system where the lease has no more.
bool FileTier::cover(Bytes bytes) {
  if (lease_ == nullptr) return true;
  bool covered = lease_->take(bytes);
  if (!covered && on_disk() != used_) {
    for (const auto& file : files_) file->trim();
    uncover();
    covered = lease_->take(bytes);
  }
  if (covered) covered_ += bytes;
  return covered;
}

void FileTier::uncover() {
  const Bytes needed = on_disk();
  if (lease_ == nullptr || covered_ <= needed) return;
  lease_->give(covered_ - needed);
  covered_ = needed;
}

// The file with the fewest bytes in flight; among equals, in turn.
std::optional<Bytes> FileTier::take_place(Bytes bytes) {
  std::vector<FileStore*> files;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    files.push_back(files_[(turn_ + i) % files_.size()].get());
  }
  std::stable_sort(files.begin(), files.end(),
                   [](const FileStore* a, const FileStore* b) { return a->moving() < b->moving(); });
  for (FileStore* file : files) {
    const auto place = file->take(bytes);
    if (!place) continue;
    ++turn_;
    return place;
  }
  return std::nullopt;
}

FileStore& FileTier::file_of(Bytes place) const {
  const auto file =
      std::find_if(files_.begin(), files_.end(), [place](const auto& other) { return other->holds(place); });
  DCHECK(file != files_.end());
  return **file;
}

void FileTier::give_back(Frame frame) {
  const MutexLock lock(mutex_);
  DCHECK_GE(used_, frame.bytes());
  used_ -= frame.bytes();
  const bool written = contents_.erase(frame.value) != 0;
  file_of(Bytes(frame.value)).give_back(Bytes(frame.value), frame.bytes(), written);
  uncover();
}

TierUsage FileTier::usage() const {
  const MutexLock lock(mutex_);
  Bytes spare;
  for (const auto& file : files_) spare += file->spare();
  return {capacity_, used_, spare, peak_used_};
}

void FileTier::trim() {
  const MutexLock lock(mutex_);
  for (const auto& file : files_) file->trim();
  uncover();
}

Status FileTier::validate() const {
  const MutexLock lock(mutex_);
  Bytes used;
  for (const auto& file : files_) {
    TESSERA_TRY(file->validate());
    used += file->used();
  }
  if (used == used_) return {};
  return Status(Code::kInternal, fmt::format("file tier: {} used, {} in its files, of {}", used_.value(), used.value(),
                                             capacity_.value()));
}

// ---- write limits --------------------------------------------------------------------------------

bool FileTier::takes_writes() const {
  const MutexLock lock(mutex_);
  return !spent_ && std::any_of(files_.begin(), files_.end(), [](const auto& file) { return !file->failed(); });
}

bool FileTier::is_spent() const {
  const MutexLock lock(mutex_);
  return spent_;
}

std::string FileTier::trouble() const {
  const MutexLock lock(mutex_);
  return trouble_;
}

Bytes FileTier::reach() const {
  const MutexLock lock(mutex_);
  Bytes room;
  for (const auto& file : files_) room += file->room();
  return used_ + (spent_ ? Bytes() : std::min(room, capacity_ - used_));
}

std::string FileTier::io_names() const {
  std::set<std::string> names;
  for (const auto& file : files_) names.insert(file->io().name());
  return fmt::format("{}", fmt::join(names, ", "));
}

bool FileTier::allow_write(Bytes bytes) {
  const bool within = bytes + written_ <= write_budget_;
  if (!spent_ && within && (lease_ == nullptr || lease_->take_writes(bytes))) return true;
  if (!spent_ && within) {
    log_line(LogLevel::kWarning,
             "the spill files are no longer written: the programs have used up their write budget; "
             "--node-file-write-budget raises it");
  } else if (!spent_) {
    log_line(LogLevel::kWarning,
             "the spill files are no longer written: {} of the write budget "
             "of {} is used; --file-write-budget raises it",
             rounded_size(written_), rounded_size(write_budget_));
  }
  spent_ = true;
  return false;
}

// ---- transfers ------------------------------------------------------------------------------------

Result<IoTicket> FileTier::write(const Frame& frame, const void* host) {
  Moving moving{.writing = true, .host = host, .place = Bytes(frame.value), .bytes = frame.bytes()};
  {
    const MutexLock lock(mutex_);
    if (!allow_write(moving.bytes)) {
      return Status(Code::kOutOfMemory, "file tier: the write budget is used up");
    }
    moving.file = &file_of(moving.place);
    contents_.insert_or_assign(frame.value, std::nullopt);
  }
  TESSERA_TRY_ASSIGN(moving.ticket, moving.file->io().write(host, moving.bytes, moving.place - moving.file->first()));
  // Overlaps with the disk's work; the bytes do not change before the ticket is finished.
  moving.checksum = checksum_(host, moving.bytes);
  return note(moving);
}

Result<IoTicket> FileTier::read(const Frame& frame, void* host) {
  Moving moving{.host = host, .place = Bytes(frame.value), .bytes = frame.bytes()};
  {
    const MutexLock lock(mutex_);
    const auto found = contents_.find(frame.value);
    if (found == contents_.end() || !found->second) {
      return Status(Code::kInvalidArgument, fmt::format("file tier: nothing has been written at {}", frame.value));
    }
    moving.checksum = *found->second;
    moving.file = &file_of(moving.place);
  }
  TESSERA_TRY_ASSIGN(moving.ticket, moving.file->io().read(host, moving.bytes, moving.place - moving.file->first()));
  return note(moving);
}

Status FileTier::poll(IoTicket ticket) {
  const auto moving = find(ticket);
  if (!moving) return no_such(ticket);
  return finish(ticket, *moving, moving->file->io().poll(moving->ticket));
}

Status FileTier::wait(IoTicket ticket) {
  const auto moving = find(ticket);
  if (!moving) return no_such(ticket);
  return finish(ticket, *moving, moving->file->io().wait(moving->ticket));
}

IoTicket FileTier::note(const Moving& moving) {
  const MutexLock lock(mutex_);
  const IoTicket ticket(++last_ticket_);
  moving_.emplace(ticket, moving);
  moving.file->begin(moving.bytes);
  if (moving.writing) written_ += moving.bytes;
  return ticket;
}

std::optional<FileTier::Moving> FileTier::find(IoTicket ticket) const {
  const MutexLock lock(mutex_);
  const auto found = moving_.find(ticket);
  return found == moving_.end() ? std::nullopt : std::optional(found->second);
}

Status FileTier::no_such(IoTicket ticket) const {
  return Status(Code::kInvalidArgument, fmt::format("no transfer {}", ticket.value()));
}

Status FileTier::finish(IoTicket ticket, const Moving& moving, Status outcome) {
  if (outcome.code() == Code::kNotReady) return outcome;
  {
    const MutexLock lock(mutex_);
    moving_.erase(ticket);
    moving.file->end(moving.bytes);
    if (moving.writing && outcome.is_ok()) {
      contents_.insert_or_assign(moving.place.value(), moving.checksum);
    }
    if (moving.writing && !outcome.is_ok() && !moving.file->failed()) {
      log_line(LogLevel::kError, "a spill file is no longer written: {}", outcome.to_string());
      moving.file->fail();
      trouble_ = outcome.message();
    }
  }
  if (moving.writing || !outcome.is_ok()) return outcome;
  const std::uint64_t found = checksum_(moving.host, moving.bytes);
  if (found == moving.checksum) return outcome;
  return Status(Code::kDataLoss, fmt::format("file tier: {} bytes at {} have checksum {:016x}, but were written with "
                                             "{:016x}",
                                             moving.bytes.value(), moving.place.value(), found, moving.checksum));
}

void FileTier::attach(void* start, Bytes bytes) {
  for (const auto& file : files_) file->io().attach(start, bytes);
}

void FileTier::detach(void* start) {
  for (const auto& file : files_) file->io().detach(start);
}

}  // namespace tessera
