#include "node_reader.hpp"

tessera_result read_node(const std::string& node, std::vector<tessera_node_program>& programs,
                         tessera_node_amounts& budgets) {
  std::size_t count = 0;
  tessera_result result = tessera_node_programs(node.c_str(), nullptr, 0, &count, &budgets);
  // Others may join in between.
  for (std::size_t room = 0; result == TESSERA_OK && room < count;) {
    room = count;
    programs.resize(room);
    result = tessera_node_programs(node.c_str(), programs.data(), room, &count, &budgets);
  }
  programs.resize(result == TESSERA_OK ? count : 0);
  return result;
}
