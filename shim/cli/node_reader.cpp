#include "node_reader.hpp"

namespace {

// `read` is given room for so many and sets the count. Others may join in between.
template <class Program, class Read>
tessera_result read_all(std::vector<Program>& programs, Read read) {
  std::size_t count = 0;
  tessera_result result = read(nullptr, 0, &count);
  for (std::size_t room = 0; result == TESSERA_OK && room < count;) {
    room = count;
    programs.resize(room);
    result = read(programs.data(), room, &count);
  }
  programs.resize(result == TESSERA_OK ? count : 0);
  return result;
}

}  // namespace

tessera_result read_node(const std::string& node, std::vector<tessera_node_program>& programs,
                         tessera_node_amounts& budgets) {
  return read_all(programs, [&](tessera_node_program* into, std::size_t room, std::size_t* count) {
    return tessera_node_programs(node.c_str(), into, room, count, &budgets);
  });
}

tessera_result read_devices(const std::string& node, std::vector<tessera_node_device_program>& programs) {
  return read_all(programs, [&](tessera_node_device_program* into, std::size_t room, std::size_t* count) {
    return tessera_node_device_programs(node.c_str(), into, room, count);
  });
}
