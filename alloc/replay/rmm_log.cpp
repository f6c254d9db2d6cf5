#include "replay/rmm_log.hpp"

#include <array>
#include <charconv>
#include <unordered_set>

#include <fmt/format.h>

#include "replay/trace_builder.hpp"

namespace tessera {
namespace {

constexpr std::string_view kFirstLine = "Thread,Time,Action,Pointer,Size,Stream";
constexpr std::size_t kColumns = 6;
enum Column { kThread, kTime, kAction, kPointer, kSize, kStream };

using Row = std::array<std::string_view, kColumns>;

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Result<Row> columns_of(std::string_view line) {
  Row row;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::size_t comma = line.find(',');
    if ((comma == line.npos) != (i + 1 == kColumns)) {
      return wrong(fmt::format("a row has {} columns", kColumns));
    }
    row[i] = line.substr(0, comma);
    line.remove_prefix(comma == line.npos ? line.size() : comma + 1);
  }
  return row;
}

// Decimal, or hexadecimal behind 0x.
Result<std::uint64_t> number(std::string_view text, const char* what) {
  const bool hex = text.starts_with("0x");
  const char* const end = text.data() + text.size();
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
  if (parsed.ec == std::errc{} && parsed.ptr == end) return value;
  return wrong(fmt::format("{} is '{}', not a number", what, text));
}

// "15:47:02.841961": microseconds of the day, as nanoseconds.
Result<std::uint64_t> time_of(std::string_view text) {
  if (text.size() != 15 || text[2] != ':' || text[5] != ':' || text[8] != '.') {
    return wrong(fmt::format("time is '{}', not 12:34:56.123456", text));
  }
  std::uint64_t hours = 0, minutes = 0, seconds = 0, micros = 0;
  TESSERA_TRY_ASSIGN(hours, number(text.substr(0, 2), "hour"));
  TESSERA_TRY_ASSIGN(minutes, number(text.substr(3, 2), "minute"));
  TESSERA_TRY_ASSIGN(seconds, number(text.substr(6, 2), "second"));
  TESSERA_TRY_ASSIGN(micros, number(text.substr(9), "microseconds"));
  return (((hours * 60 + minutes) * 60 + seconds) * 1'000'000 + micros) * 1000;
}

class Importer {
 public:
  explicit Importer(const std::string& name) { trace_.header(name, "rmm", {}); }

  Status take(const Row& row) {
    const bool allocates = row[kAction] == "allocate";
    if (row[kAction] == "allocate failure") return {};
    if (!allocates && row[kAction] != "free") {
      return wrong(fmt::format("action is '{}', none of allocate, free, allocate failure", row[kAction]));
    }
    std::uint64_t now = 0, pointer = 0, bytes = 0, stream = 0;
    TESSERA_TRY_ASSIGN(now, time_of(row[kTime]));
    TESSERA_TRY_ASSIGN(pointer, number(row[kPointer], "pointer"));
    TESSERA_TRY_ASSIGN(bytes, number(row[kSize], "size"));
    TESSERA_TRY_ASSIGN(stream, number(row[kStream], "stream"));
    if (bytes == 0 || (!allocates && !live_.contains(pointer))) return {};
    if (allocates) {
      TESSERA_TRY(trace_.alloc({.id = pointer, .bytes = Bytes(bytes), .stream = stream,
                                .tag = "", .regenerate = {}}));
      live_.insert(pointer);
    }
    const std::array<std::uint64_t, 1> block = {pointer};
    TraceBuilder::Op op;
    op.name = row[kAction];
    op.time = since(now);
    op.stream = stream;
    (allocates ? op.writes : op.reads) = block;
    TESSERA_TRY(trace_.op(op));
    if (allocates) return {};
    live_.erase(pointer);
    return trace_.free(pointer);
  }
  Trace finish() { return trace_.take(); }

 private:
  // A day that ends, or threads that overtake each other, count as no time.
  Nanoseconds since(std::uint64_t now) {
    const std::uint64_t before = seen_ ? last_ : now;
    seen_ = true;
    last_ = now;
    return Nanoseconds(now > before ? now - before : 0);
  }

  TraceBuilder trace_;
  std::unordered_set<std::uint64_t> live_;
  std::uint64_t last_ = 0;
  bool seen_ = false;
};

}  // namespace

bool is_rmm_log(std::string_view first_line) { return without_end(first_line) == kFirstLine; }

Result<Trace> read_rmm_log(std::istream& lines, const std::string& name) {
  Importer importer(name);
  std::string line;
  for (std::size_t count = 2; std::getline(lines, line); ++count) {
    if (without_end(line).empty()) continue;
    const Result<Row> row = columns_of(without_end(line));
    const Status taken = row.is_ok() ? importer.take(row.value()) : row.status();
    if (!taken.is_ok()) return wrong(fmt::format("{}:{}: {}", name, count, taken.message()));
  }
  return importer.finish();
}

}  // namespace tessera
