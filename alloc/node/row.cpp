#include "node/row.hpp"

#include <algorithm>
#include <cstring>

#include <xxhash.h>

namespace tessera {
namespace {

constexpr std::uint64_t kMagic = 0x3152'4744'4c52'5354;  // "TSRLDGR1"

// Against damage, not against intent.
template <class Record>
std::uint64_t checksum_behind_first_word(const Record& record) {
  constexpr std::size_t kFirst = sizeof(std::uint64_t);
  return XXH3_64bits(reinterpret_cast<const unsigned char*>(&record) + kFirst, sizeof(Record) - kFirst);
}

template <class Record>
Record record_at(std::span<const std::byte> file, std::size_t offset) {
  Record record{};
  if (offset < file.size()) std::memcpy(&record, &file[offset], std::min(sizeof(Record), file.size() - offset));
  return record;
}

bool is_possible(const LedgerAmount& amount) {
  return amount.held <= kMostNodeBytes.value() && amount.wanted <= kMostNodeBytes.value();
}

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

// Printable characters, then zeros.
template <std::size_t kSize>
bool is_name(const std::array<char, kSize>& name) {
  const auto end = std::ranges::find_if_not(name, is_printable);
  return std::all_of(end, name.end(), [](char c) { return c == '\0'; });
}

bool is_possible(const LedgerRow& row) {
  return row.pid > 0 && row.weight >= 1 && row.weight <= kMostWeight && is_name(row.name) && is_name(row.job_name) &&
         std::ranges::all_of(row.amounts, [](const LedgerAmount& amount) { return is_possible(amount); }) &&
         std::ranges::all_of(std::array{row.budget, row.ceiling, row.limit, row.limit_set, row.ahead},
                             [](std::uint64_t bytes) { return bytes <= kMostNodeBytes.value(); });
}

}  // namespace

void seal(LedgerHeader& header) {
  header.magic = kMagic;
  header.version = kLedgerVersion;
  header.row_bytes = sizeof(LedgerRow);
  header.rows = kLedgerRows;
  header.checksum = checksum_behind_first_word(header);
}

void seal(LedgerRow& row) { row.checksum = checksum_behind_first_word(row); }

std::optional<LedgerHeader> read_header(std::span<const std::byte> file) {
  const auto header = record_at<LedgerHeader>(file, 0);
  const bool known = header.magic == kMagic && header.version == kLedgerVersion &&
                     header.row_bytes == sizeof(LedgerRow) && header.rows == kLedgerRows &&
                     header.checksum == checksum_behind_first_word(header);
  const auto too_much = [](std::uint64_t bytes) { return bytes > kMostNodeBytes.value(); };
  if (!known || std::ranges::any_of(header.budgets, too_much) || too_much(header.spent_writes)) return std::nullopt;
  return header;
}

std::optional<LedgerRow> read_row(std::span<const std::byte> file, std::size_t index) {
  const LedgerRow row = record_at<LedgerRow>(file, row_offset(index));
  if (row.is_free() || row.checksum != checksum_behind_first_word(row) || !is_possible(row)) return std::nullopt;
  return row;
}

}  // namespace tessera
