#include "lab/replay/trace_reader.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "lab/replay/input_text.hpp"
#include "lab/replay/rmm_log.hpp"
#include "lab/replay/trace_builder.hpp"

namespace tessera {
namespace {

using nlohmann::json;

// A number that a recorder wrote with a decimal point is accepted if it is integral.
Result<std::uint64_t> number(const json& line, const char* key, std::optional<std::uint64_t> absent) {
  const auto found = line.find(key);
  if (found == line.end()) {
    if (absent) return *absent;
    return wrong(fmt::format("\"{}\" is missing", key));
  }
  if (found->is_number_unsigned()) return found->get<std::uint64_t>();
  if (found->is_number_float()) {
    const double value = found->get<double>();
    if (value >= 0 && value < 1e18 && value == static_cast<double>(static_cast<std::uint64_t>(value))) {
      return static_cast<std::uint64_t>(value);
    }
  }
  return wrong(fmt::format("\"{}\" is not a whole number", key));
}

Result<std::string_view> text(const json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) return std::string_view();
  if (!found->is_string()) return wrong(fmt::format("\"{}\" is not a string", key));
  return std::string_view(found->get_ref<const std::string&>());
}

// The blocks of a list, and of those that it only names in part, the parts: [id, offset, bytes].
struct Operands {
  std::vector<std::uint64_t> whole;
  std::vector<TraceBuilder::Part> parts;
};

Result<std::vector<std::uint64_t>> read_operands(const json& line, const char* key, Operands& all) {
  std::vector<std::uint64_t> found;
  const auto list = line.find(key);
  if (list == line.end()) return found;
  if (!list->is_array()) return wrong(fmt::format("\"{}\" is not a list", key));
  for (const json& each : *list) {
    if (each.is_number_unsigned()) {
      found.push_back(each.get<std::uint64_t>());
      all.whole.push_back(found.back());
      continue;
    }
    const bool is_part = each.is_array() && each.size() == 3 &&
                         std::ranges::all_of(each, [](const json& number) { return number.is_number_unsigned(); });
    if (!is_part) {
      return wrong(fmt::format("\"{}\" contains an element that is neither an id nor [id, offset, bytes]", key));
    }
    found.push_back(each[0].get<std::uint64_t>());
    all.parts.push_back({found.back(), Bytes(each[1].get<std::uint64_t>()), Bytes(each[2].get<std::uint64_t>())});
  }
  return found;
}

Status read_header(const json& line, TraceBuilder& trace) {
  std::uint64_t version = 0, memory = 0;
  TESSERA_TRY_ASSIGN(version, number(line, "version", 1));
  TESSERA_TRY_ASSIGN(memory, number(line, "device_memory", 0));
  std::string_view name, source;
  TESSERA_TRY_ASSIGN(name, text(line, "name"));
  TESSERA_TRY_ASSIGN(source, text(line, "source"));
  if (version != 1) return wrong(fmt::format("unknown format version {}", version));
  trace.header(std::string(name), std::string(source), Bytes(memory));
  return {};
}

Status read_alloc(const json& line, TraceBuilder& trace) {
  TraceBuilder::Alloc alloc;
  std::uint64_t bytes = 0;
  TESSERA_TRY_ASSIGN(alloc.id, number(line, "id", {}));
  TESSERA_TRY_ASSIGN(bytes, number(line, "bytes", {}));
  TESSERA_TRY_ASSIGN(alloc.stream, number(line, "stream", 0));
  TESSERA_TRY_ASSIGN(alloc.device, number(line, "device", 0));
  TESSERA_TRY_ASSIGN(alloc.tag, text(line, "tag"));
  alloc.bytes = Bytes(bytes);
  if (line.contains("recompute_ns")) {
    std::uint64_t time = 0;
    TESSERA_TRY_ASSIGN(time, number(line, "recompute_ns", {}));
    alloc.recompute = Nanoseconds(time);
  }
  return trace.alloc(alloc);
}

Status read_op(const json& line, TraceBuilder& trace) {
  TraceBuilder::Op op;
  std::vector<std::uint64_t> reads, writes;
  TESSERA_TRY_ASSIGN(op.name, text(line, "name"));
  if (line.contains("ns")) {
    std::uint64_t time = 0;
    TESSERA_TRY_ASSIGN(time, number(line, "ns", {}));
    op.time = Nanoseconds(time);
  }
  TESSERA_TRY_ASSIGN(op.stream, number(line, "stream", 0));
  TESSERA_TRY_ASSIGN(op.device, number(line, "device", 0));
  Operands operands;
  TESSERA_TRY_ASSIGN(reads, read_operands(line, "r", operands));
  TESSERA_TRY_ASSIGN(writes, read_operands(line, "w", operands));
  std::erase_if(operands.parts, [&operands](const TraceBuilder::Part& part) {
    return std::ranges::find(operands.whole, part.id) != operands.whole.end();
  });
  op.reads = reads;
  op.writes = writes;
  op.parts = operands.parts;
  return trace.op(op);
}

Status read_time(const json& line, TraceBuilder& trace) {
  std::string_view name;
  std::uint64_t device = 0, blocks = 0, bytes = 0, time = 0;
  TESSERA_TRY_ASSIGN(name, text(line, "name"));
  TESSERA_TRY_ASSIGN(device, number(line, "device", 0));
  TESSERA_TRY_ASSIGN(blocks, number(line, "blocks", {}));
  TESSERA_TRY_ASSIGN(bytes, number(line, "bytes", {}));
  TESSERA_TRY_ASSIGN(time, number(line, "ns", {}));
  trace.took(name, device, blocks, Bytes(bytes), Nanoseconds(time));
  return {};
}

Status read_mark(const json& line, TraceBuilder& trace) {
  std::string_view kind;
  std::uint64_t count = 0;
  TESSERA_TRY_ASSIGN(kind, text(line, "kind"));
  TESSERA_TRY_ASSIGN(count, number(line, "n", 0));
  return trace.mark(kind, count);
}

Status read_free(const json& line, TraceBuilder& trace) {
  std::uint64_t id = 0;
  TESSERA_TRY_ASSIGN(id, number(line, "id", {}));
  return trace.free(id);
}

Status read_recompute(const json& line, TraceBuilder& trace) {
  std::uint64_t id = 0, time = 0;
  TESSERA_TRY_ASSIGN(id, number(line, "id", {}));
  TESSERA_TRY_ASSIGN(time, number(line, "recompute_ns", {}));
  return trace.recompute(id, Nanoseconds(time));
}

bool is_header(const json& line) {
  const auto kind = line.find("t");
  return kind != line.end() && *kind == "header";
}

// Words of earlier traces.
Status check_words(const json& line, std::string_view kind) {
  if (kind == "regen") return wrong("\"t\":\"regen\" is now \"recompute\", and \"regen_ns\" is \"recompute_ns\"");
  if (line.contains("regen_ns")) return wrong("\"regen_ns\" is now \"recompute_ns\"");
  return {};
}

Status read_event(const json& line, TraceBuilder& trace) {
  std::string_view kind;
  TESSERA_TRY_ASSIGN(kind, text(line, "t"));
  TESSERA_TRY(check_words(line, kind));
  if (kind == "op") return read_op(line, trace);
  if (kind == "time") return read_time(line, trace);
  if (kind == "alloc") return read_alloc(line, trace);
  if (kind == "free") return read_free(line, trace);
  if (kind == "mark") return read_mark(line, trace);
  if (kind == "recompute") return read_recompute(line, trace);
  if (kind == "header") return read_header(line, trace);
  return wrong(fmt::format("\"t\" is \"{}\", not one of header, alloc, op, time, mark, free, recompute", kind));
}

}  // namespace

Result<Trace> read_trace(std::istream& lines, const std::string& name) {
  TraceBuilder trace;
  std::string line, note;
  bool began = false, headed = false;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    // Zeros to the end of the file: the recorder was killed (observe/appended_file.hpp).
    if (line.find('\0') != std::string::npos && (began || line.front() == '\0')) {
      note = fmt::format("{}: the recording ends in line {}, because the program was killed", name, number);
      break;
    }
    if (!began && is_rmm_log(line)) return read_rmm_log(line, lines, name);
    const bool last = lines.eof();  // no line end after it
    const json parsed = json::parse(line, nullptr, false);
    if (!parsed.is_object()) {
      if (last && began) {
        note = fmt::format("{}: line {} is truncated and was skipped", name, number);
        break;
      }
      const char* const what =
          began ? "not a JSON object" : "neither a trace of `tessera run --trace FILE` nor an RMM log";
      return wrong(fmt::format("{}:{}: {}", name, number, what));
    }
    const bool header = is_header(parsed);
    if (header && headed) {
      return wrong(fmt::format("{}:{}: another trace begins here, for example of another rank; replay each separately",
                               name, number));
    }
    headed = headed || header;
    began = true;
    const Status read = read_event(parsed, trace);
    if (!read.is_ok()) return wrong(fmt::format("{}:{}: {}", name, number, read.message()));
  }
  Trace made = trace.take();
  if (!note.empty()) made.notes.push_back(std::move(note));
  return made;
}

Result<Trace> read_trace(const std::string& path) {
  InputText input;
  TESSERA_TRY_ASSIGN(input, read_input(path));
  std::istringstream lines(std::move(input.text));
  auto trace = read_trace(lines, path);
  if (trace.is_ok()) trace.value().notes.insert(trace.value().notes.begin(), input.notes.begin(), input.notes.end());
  return trace;
}

}  // namespace tessera
