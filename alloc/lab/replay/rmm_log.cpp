#include "lab/replay/rmm_log.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <unordered_set>

#include <fmt/core.h>

#include "lab/replay/trace_builder.hpp"

namespace tessera {
namespace {

constexpr std::string_view kFirstLine = "Thread,Time,Action,Pointer,Size,Stream";
constexpr std::size_t kColumns = 6;
enum Column : std::size_t { kThread, kTime, kAction, kPointer, kSize, kStream };

struct Row {
  enum class Action : std::uint8_t { kAllocate, kFree, kFailure };
  Action action = Action::kFailure;
  std::uint64_t time = 0;  // nanoseconds since midnight
  std::uint64_t pointer = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
};

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<std::uint64_t> digits(std::string_view text, int base) {
  const char* const end = text.data() + text.size();
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), end, value, base);
  if (parsed.ec == std::errc{} && parsed.ptr == end) return value;
  return std::nullopt;
}

// Decimal, or hexadecimal after 0x. Null pointers have several spellings.
std::optional<std::uint64_t> number(std::string_view text) {
  if (text == "(nil)" || text == "nil" || text == "nullptr") return 0;
  if (text.starts_with("0x") || text.starts_with("0X")) return digits(text.substr(2), 16);
  return digits(text, 10);
}

// "15:47:02.841961" or "15:47:02:841961", optionally after a date; up to nine digits of a second.
std::optional<std::uint64_t> time_of(std::string_view text) {
  if (const std::size_t date = text.find_last_of(" T"); date != text.npos) text.remove_prefix(date + 1);
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hours = digits(text.substr(0, 2), 10), minutes = digits(text.substr(3, 2), 10),
             seconds = digits(text.substr(6, 2), 10);
  if (!hours || !minutes || !seconds) return std::nullopt;
  std::uint64_t fraction = 0;
  if (text.size() > 8) {
    std::string_view part = text.substr(9);
    if ((text[8] != '.' && text[8] != ':') || part.empty() || part.size() > 9) return std::nullopt;
    const auto value = digits(part, 10);
    if (!value) return std::nullopt;
    fraction = *value;
    for (std::size_t i = part.size(); i < 9; ++i) fraction *= 10;
  }
  return ((*hours * 60 + *minutes) * 60 + *seconds) * 1'000'000'000 + fraction;
}

std::optional<Row::Action> action_of(std::string_view text) {
  if (text == "allocate") return Row::Action::kAllocate;
  if (text == "free" || text == "deallocate") return Row::Action::kFree;
  if (text == "allocate failure") return Row::Action::kFailure;
  return std::nullopt;
}

std::optional<Row> row_of(std::string_view line) {
  std::array<std::string_view, kColumns> columns;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::size_t comma = line.find(',');
    if ((comma == line.npos) != (i + 1 == kColumns)) return std::nullopt;
    columns[i] = line.substr(0, comma);
    line.remove_prefix(comma == line.npos ? line.size() : comma + 1);
  }
  const auto action = action_of(columns[kAction]);
  const auto time = time_of(columns[kTime]);
  const auto pointer = number(columns[kPointer]), bytes = number(columns[kSize]), stream = number(columns[kStream]);
  if (!action || !time || !pointer || !bytes || !stream) return std::nullopt;
  return Row{*action, *time, *pointer, *bytes, *stream};
}

class Importer {
 public:
  explicit Importer(const std::string& name) { trace_.header(name, "rmm", {}); }

  Status take(const Row& row) {
    const bool allocates = row.action == Row::Action::kAllocate;
    if (row.action == Row::Action::kFailure || row.bytes == 0) return {};
    if (!allocates && !live_.contains(row.pointer)) return {};
    if (allocates && live_.contains(row.pointer)) {
      // Its free was lost, or a row of another thread came first.
      ++lost_frees_;
      TESSERA_TRY(trace_.free(row.pointer));
    }
    if (allocates) {
      TESSERA_TRY(trace_.alloc(
          {.id = row.pointer, .bytes = Bytes(row.bytes), .stream = row.stream, .tag = "", .recompute = {}}));
      live_.insert(row.pointer);
    }
    const std::array<std::uint64_t, 1> block = {row.pointer};
    TraceBuilder::Op op;
    op.name = allocates ? "allocate" : "free";
    op.time = since(row.time);
    op.stream = row.stream;
    (allocates ? op.writes : op.reads) = block;
    TESSERA_TRY(trace_.op(op));
    if (allocates) return {};
    live_.erase(row.pointer);
    return trace_.free(row.pointer);
  }
  std::size_t lost_frees() const { return lost_frees_; }
  Trace finish() { return trace_.take(); }

 private:
  // At midnight, or when rows of threads are out of order, counts as zero.
  Nanoseconds since(std::uint64_t now) {
    const std::uint64_t before = seen_ ? last_ : now;
    seen_ = true;
    last_ = now;
    return Nanoseconds(now > before ? now - before : 0);
  }

  TraceBuilder trace_;
  std::unordered_set<std::uint64_t> live_;
  std::uint64_t last_ = 0;
  std::size_t lost_frees_ = 0;
  bool seen_ = false;
};

}  // namespace

bool is_rmm_log(std::string_view line) {
  line = without_end(line);
  return line == kFirstLine || row_of(line).has_value();
}

Result<Trace> read_rmm_log(std::string_view first, std::istream& lines, const std::string& name) {
  Importer importer(name);
  std::size_t rows = 0, others = 0, first_other = 0;
  std::string line(first);
  std::size_t count = 1;
  do {
    const std::string_view text = without_end(line);
    // A continued log repeats its header.
    if (text.empty() || text == kFirstLine) continue;
    const std::optional<Row> row = row_of(text);
    if (!row) {
      if (others++ == 0) first_other = count;
      continue;
    }
    ++rows;
    const Status taken = importer.take(*row);
    if (!taken.is_ok()) return wrong(fmt::format("{}:{}: {}", name, count, taken.message()));
  } while (++count, std::getline(lines, line));
  if (rows == 0) return wrong(fmt::format("{}: an RMM log without any row in its {} lines", name, count - 1));
  Trace trace = importer.finish();
  if (others > 0) {
    trace.notes.push_back(
        fmt::format("{}: {} of {} lines are not rows of an RMM log and were skipped; the first is line {}", name,
                    others, rows + others, first_other));
  }
  if (importer.lost_frees() > 0) {
    trace.notes.push_back(fmt::format("{}: {} frees are missing: addresses were allocated again without a free", name,
                                      importer.lost_frees()));
  }
  return trace;
}

}  // namespace tessera
