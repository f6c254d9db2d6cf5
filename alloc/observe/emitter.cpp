#include "observe/emitter.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/size_text.hpp"

namespace tessera {
namespace {

std::string with_blanks(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string key_of(const std::string& name, bool is_time) { return is_time ? name + "_ns" : name; }
std::string label_of(const std::string& name, bool is_time) { return with_blanks(is_time ? name + "_time" : name); }

struct Shown {
  std::string rounded;
  std::string exact;  // "" where rounded is exact
};

struct Show {
  Shown operator()(std::uint64_t value) const { return {fmt::format("{}", value), ""}; }
  Shown operator()(Bytes value) const {
    return {rounded_size(value), value < 1_KiB ? "" : fmt::format("{}", value.value())};
  }
  Shown operator()(Nanoseconds value) const { return {rounded_time(value), ""}; }
  Shown operator()(const std::string& value) const { return {value, ""}; }
};

struct ToJson {
  nlohmann::ordered_json operator()(std::uint64_t value) const { return value; }
  nlohmann::ordered_json operator()(Bytes value) const { return value.value(); }
  nlohmann::ordered_json operator()(Nanoseconds value) const { return value.value(); }
  nlohmann::ordered_json operator()(const std::string& value) const { return value; }
};

}  // namespace

void Emitter::group(std::string name) { groups_.push_back({std::move(name), {}}); }
void Emitter::count(std::string name, std::uint64_t value) { add(std::move(name), value); }
void Emitter::bytes(std::string name, Bytes value) { add(std::move(name), value); }
void Emitter::time(std::string name, Nanoseconds value) { add(std::move(name), value); }
void Emitter::text(std::string name, std::string value) { add(std::move(name), std::move(value)); }

void Emitter::add(std::string name, Value value) {
  DCHECK(!groups_.empty());
  groups_.back().figures.push_back({std::move(name), std::move(value)});
}

bool Emitter::is_time(const Figure& figure) { return std::holds_alternative<Nanoseconds>(figure.value); }

std::string Emitter::table() const {
  std::size_t names = 0;
  std::size_t values = 0;
  for (const Group& group : groups_) {
    for (const Figure& figure : group.figures) {
      names = std::max(names, label_of(figure.name, is_time(figure)).size());
      const Shown shown = std::visit(Show{}, figure.value);
      // Long texts do not widen the column of numbers.
      if (shown.rounded.size() <= 16) values = std::max(values, shown.rounded.size());
    }
  }
  std::string out;
  for (const Group& group : groups_) {
    if (group.figures.empty()) continue;
    out += with_blanks(group.name) + "\n";
    for (const Figure& figure : group.figures) {
      const Shown shown = std::visit(Show{}, figure.value);
      out += fmt::format("  {:<{}}  {:>{}}", label_of(figure.name, is_time(figure)), names, shown.rounded, values);
      if (!shown.exact.empty()) out += fmt::format("  {:>15}", shown.exact);
      out += "\n";
    }
  }
  return out;
}

std::string Emitter::json() const {
  nlohmann::ordered_json root = nlohmann::ordered_json::object();
  for (const Group& group : groups_) {
    auto& object = root[group.name] = nlohmann::ordered_json::object();
    for (const Figure& figure : group.figures) {
      object[key_of(figure.name, is_time(figure))] = std::visit(ToJson{}, figure.value);
    }
  }
  return root.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string rounded_time(Nanoseconds time) {
  struct Unit {
    const char* name;
    double ns;
  };
  constexpr Unit kUnits[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}};
  const auto ns = static_cast<double>(time.value());
  for (const Unit& unit : kUnits) {
    if (ns < unit.ns) continue;
    const double amount = ns / unit.ns;
    return fmt::format("{:.{}f} {}", amount, amount < 10 ? 2 : amount < 100 ? 1 : 0, unit.name);
  }
  return fmt::format("{} ns", time.value());
}

}  // namespace tessera
