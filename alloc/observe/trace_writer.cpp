#include "observe/trace_writer.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt_whole.hpp>

#include "base/log.hpp"
#include "base/size_text.hpp"
#include "observe/json_string.hpp"

namespace tessera {
namespace {

constexpr Nanoseconds kOldest{100'000'000};

// Space for a line without its ids, and for one id.
constexpr std::size_t kLine = 256, kId = 21;

void append_operands(std::string& line, std::span<const TraceWriter::Operand> operands) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i > 0) line += ',';
    const TraceWriter::Operand& operand = operands[i];
    if (operand.bytes) {
      fmt::format_to(std::back_inserter(line), "[{},{},{}]", operand.id, operand.offset.value(), operand.bytes.value());
      continue;
    }
    const fmt::format_int digits(operand.id);
    line.append(digits.data(), digits.size());
  }
}

}  // namespace

Result<std::unique_ptr<TraceWriter>> TraceWriter::open(const std::string& path, const Header& header,
                                                       const Clock& clock, Bytes limit, OutputFile::Left left) {
  std::unique_ptr<AppendedFile> file;
  TESSERA_TRY_ASSIGN(file, AppendedFile::open(path, left));
  std::string own_path = file->path();
  std::unique_ptr<TraceWriter> writer(new TraceWriter(std::move(file), std::move(own_path), clock, limit));
  writer->append(fmt::format("{{\"t\":\"header\",\"version\":1,\"name\":{},\"source\":\"recorded\","
                             "\"device_memory\":{}}}\n",
                             json_string(header.name), header.device_memory.value()),
                 true);
  TESSERA_TRY(writer->flush());
  return writer;
}

TraceWriter::TraceWriter(std::unique_ptr<AppendedFile> file, std::string path, const Clock& clock, Bytes limit)
    : path_(std::move(path)),
      clock_(clock),
      start_(clock.now()),
      limit_(limit),
      file_(std::move(file)),
      last_push_(start_) {}

std::string TraceWriter::line_of(const char* kind) const {
  return fmt::format("{{\"t\":\"{}\",\"at\":{}", kind, (clock_.now() - start_).value());
}

void TraceWriter::alloc(std::uint64_t id, Bytes bytes, StreamId stream, std::string_view tag, DeviceId device) {
  std::string line = line_of("alloc");
  fmt::format_to(std::back_inserter(line), ",\"id\":{},\"bytes\":{},\"stream\":{},\"device\":{}", id, bytes.value(),
                 stream.value(), device.value());
  if (!tag.empty()) line += ",\"tag\":" + json_string(tag);
  append(line + "}\n", false);
}

void TraceWriter::op(std::string_view name, StreamId stream, DeviceId device, std::span<const Operand> reads,
                     std::span<const Operand> writes) {
  std::string line = line_of("op");
  line.reserve(kLine + name.size() + (reads.size() + writes.size()) * kId);
  fmt::format_to(std::back_inserter(line), ",\"name\":{},\"stream\":{},\"device\":{},\"r\":[", json_string(name),
                 stream.value(), device.value());
  const std::size_t first = line.size();
  append_operands(line, reads);
  const std::size_t end = line.size();
  line += "],\"w\":[";
  if (reads.data() == writes.data() && reads.size() == writes.size()) {
    line.append(line, first,
                end - first);  // a launch's reads and writes are the same set, as they cannot be told apart
  } else {
    append_operands(line, writes);
  }
  append(line += "]}\n", false);
}

void TraceWriter::took(const OpKind& kind, Nanoseconds time) {
  append(fmt::format("{},\"name\":{},\"device\":{},\"blocks\":{},\"bytes\":{},\"ns\":{}}}\n", line_of("time"),
                     json_string(kind.name), kind.device.value(), kind.blocks, kind.bytes.value(), time.value()),
         false);
}

void TraceWriter::mark(std::string_view kind, std::uint64_t number) {
  append(fmt::format("{},\"kind\":{},\"n\":{}}}\n", line_of("mark"), json_string(kind), number), true);
}

void TraceWriter::free(std::uint64_t id) { append(fmt::format("{},\"id\":{}}}\n", line_of("free"), id), false); }

void TraceWriter::remakable(std::uint64_t id, Nanoseconds time) {
  append(fmt::format("{},\"id\":{},\"recompute_ns\":{}}}\n", line_of("recompute"), id, time.value()), false);
}

void TraceWriter::append(const std::string& line, bool push_now) {
  const MutexLock lock(mutex_);
  if (!failure_.is_ok()) return;
  if (file_->size() + Bytes(line.size()) > limit_) {
    return fail(
        Status(Code::kIo, fmt::format("{}: the trace reached its size limit, {}", path_, rounded_size(limit_))));
  }
  const Nanoseconds now = clock_.now();
  Status status = file_->append(line);
  if (status.is_ok() && (push_now || now - last_push_ >= kOldest)) {
    status = file_->push();
    last_push_ = now;
  }
  if (!status.is_ok()) fail(std::move(status));
}

void TraceWriter::fail(Status why) {
  failure_ = std::move(why);
  log_line(LogLevel::kWarning, "trace ended: {}", failure_.message());
}

Status TraceWriter::flush() {
  const MutexLock lock(mutex_);
  if (!failure_.is_ok()) return failure_;
  if (Status status = file_->push(); !status.is_ok()) fail(std::move(status));
  return failure_;
}

}  // namespace tessera
