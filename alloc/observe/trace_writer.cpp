#include "observe/trace_writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/size_text.hpp"
#include "observe/json_string.hpp"
#include "observe/text_file.hpp"

namespace tessera {
namespace {

constexpr std::size_t kBuffer = 256 << 10;
constexpr Nanoseconds kOldest{100'000'000};

// Room for a line beside its ids, and for one of these.
constexpr std::size_t kLine = 256, kId = 21;

void append_ids(std::string& line, std::span<const std::uint64_t> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) line += ',';
    const fmt::format_int digits(ids[i]);
    line.append(digits.data(), digits.size());
  }
}

}  // namespace

Result<std::unique_ptr<TraceWriter>> TraceWriter::open(const std::string& path,
                                                       const Header& header, const Clock& clock,
                                                       Bytes limit) {
  TESSERA_TRY_ASSIGN(const int file, open_private_file(path));
  std::unique_ptr<TraceWriter> writer(new TraceWriter(file, path, clock, limit));
  writer->append(fmt::format("{{\"t\":\"header\",\"version\":1,\"name\":{},\"source\":\"recorded\","
                             "\"device_memory\":{}}}\n",
                             json_string(header.name), header.device_memory.value()),
                 true);
  TESSERA_TRY(writer->flush());
  return writer;
}

TraceWriter::TraceWriter(int file, std::string path, const Clock& clock, Bytes limit)
    : file_(file), path_(std::move(path)), clock_(clock), start_(clock.now()), limit_(limit),
      last_write_(start_) {}

TraceWriter::~TraceWriter() {
  {
    const MutexLock lock(mutex_);
    write_buffer();
  }
  if (::close(file_) != 0) log_line(LogLevel::kWarning, "trace {}: the last piece may be lost", path_);
}

std::string TraceWriter::line_of(const char* kind) const {
  return fmt::format("{{\"t\":\"{}\",\"at\":{}", kind, (clock_.now() - start_).value());
}

void TraceWriter::alloc(std::uint64_t id, Bytes bytes, StreamId stream, std::string_view tag,
                        DeviceId device) {
  std::string line = line_of("alloc");
  fmt::format_to(std::back_inserter(line), ",\"id\":{},\"bytes\":{},\"stream\":{},\"device\":{}", id,
                 bytes.value(), stream.value(), device.value());
  if (!tag.empty()) line += ",\"tag\":" + json_string(tag);
  append(line + "}\n", false);
}

void TraceWriter::op(std::string_view name, StreamId stream, DeviceId device,
                     std::span<const std::uint64_t> reads, std::span<const std::uint64_t> writes) {
  std::string line = line_of("op");
  line.reserve(kLine + name.size() + (reads.size() + writes.size()) * kId);
  fmt::format_to(std::back_inserter(line), ",\"name\":{},\"stream\":{},\"device\":{},\"r\":[",
                 json_string(name), stream.value(), device.value());
  const std::size_t first = line.size();
  append_ids(line, reads);
  const std::size_t end = line.size();
  line += "],\"w\":[";
  if (reads.data() == writes.data() && reads.size() == writes.size()) {
    line.append(line, first, end - first);  // a launch reads what it writes, for all that is known
  } else {
    append_ids(line, writes);
  }
  append(line += "]}\n", false);
}

void TraceWriter::mark(std::string_view kind, std::uint64_t number) {
  append(fmt::format("{},\"kind\":{},\"n\":{}}}\n", line_of("mark"), json_string(kind), number), true);
}

void TraceWriter::free(std::uint64_t id) {
  append(fmt::format("{},\"id\":{}}}\n", line_of("free"), id), false);
}

void TraceWriter::remakable(std::uint64_t id, Nanoseconds time) {
  append(fmt::format("{},\"id\":{},\"regen_ns\":{}}}\n", line_of("regen"), id, time.value()), false);
}

void TraceWriter::append(const std::string& line, bool flush_now) {
  const MutexLock lock(mutex_);
  if (!failure_.is_ok()) return;
  if (written_ + Bytes(buffer_.size() + line.size()) > limit_) {
    write_buffer();
    if (failure_.is_ok()) {
      failure_ = Status(Code::kIo, fmt::format("trace {}: ended at {}, the limit of a trace", path_,
                                               rounded_size(limit_)));
      log_text(LogLevel::kWarning, failure_.message());
    }
    return;
  }
  buffer_ += line;
  const bool old = clock_.now() - last_write_ >= kOldest;
  if (flush_now || old || buffer_.size() >= kBuffer) write_buffer();
}

void TraceWriter::write_buffer() {
  if (!failure_.is_ok() || buffer_.empty()) return;
  failure_ = write_all(file_, buffer_, path_);
  if (!failure_.is_ok()) {
    log_line(LogLevel::kWarning, "trace ended: {}", failure_.message());
  }
  written_ += Bytes(buffer_.size());
  buffer_.clear();
  last_write_ = clock_.now();
}

Status TraceWriter::flush() {
  const MutexLock lock(mutex_);
  write_buffer();
  return failure_;
}

}  // namespace tessera
