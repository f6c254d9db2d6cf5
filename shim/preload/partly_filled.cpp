#include "partly_filled.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace tessera::preload {
namespace {

constexpr std::size_t kAddress = sizeof(std::uint64_t);

template <class T>
T at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// ---- inputs of a concatenation ------------------------------------------------------------------

// Four arrays and one of flags: the inputs' addresses, and as 32-bit numbers where each begins in the output, its size
// there, and its number of elements. Then strides of 4 dimensions, once or for each input. The grid's y is the input.
struct Inputs {
  std::size_t entries, strides;
  constexpr std::size_t numbers(std::size_t array) const { return entries * (kAddress + 4 * array); }
  constexpr std::size_t bytes() const { return round_up(round_up(numbers(3) + entries, 4) + strides * 32, kAddress); }
};
constexpr std::array kInputLayouts = {Inputs{128, 1}, Inputs{64, 64}};

FilledEntries filled_inputs(const Inputs& inputs, std::span<const std::byte> structure, Grid grid) {
  if (grid.y == 0 || grid.y > inputs.entries) return {};
  for (std::size_t i = 0; i < grid.y; ++i) {
    const auto number = [&](std::size_t array, std::size_t of) {
      return at<std::uint32_t>(structure, inputs.numbers(array) + 4 * of);
    };
    if (number(1, i) == 0 || number(2, i) == 0) return {};
    if (i != 0 && number(0, i) != number(0, i - 1) + number(1, i - 1)) return {};
  }
  return {1, inputs.entries, grid.y};
}

// ---- lists of tensors ---------------------------------------------------------------------------

// Arrays of addresses; the tensors' numbers of elements, and perhaps a scalar for each; the tensor of each thread
// block, in one byte, and its part of it, in four. Tensors are in order, and each has a block.
struct Lists {
  std::size_t arrays, entries, scalar, blocks;
  constexpr std::size_t elements() const { return arrays * entries * kAddress; }
  constexpr std::size_t tensor_of_block() const { return elements() + entries * (kAddress + scalar); }
  constexpr std::size_t bytes() const {
    const std::size_t part_of_block = round_up(tensor_of_block() + blocks, 4);
    return round_up(part_of_block + blocks * 4 + (scalar == 0 ? 4 : 0), kAddress);
  }
};
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;

// How many entries and blocks a structure with so many arrays has: in 4 KiB of parameters, and in 32 KiB.
struct Room {
  std::size_t entries, with_scalars, blocks;
};
constexpr std::size_t kMostArrays = 5;
constexpr std::array<std::array<Room, kMostArrays>, 2> kRooms = {
    {{{{110, 96, 320}, {64, 64, 320}, {48, 48, 320}, {36, 36, 320}, {30, 30, 320}}},
     {{{256, 256, 5272}, {256, 256, 4863}, {256, 256, 4453}, {256, 256, 4044}, {256, 256, 3634}}}}};
constexpr std::array<std::size_t, 3> kScalars = {0, 4, 8};

constexpr auto kListLayouts = [] {
  std::array<Lists, kRooms.size() * kMostArrays * kScalars.size()> all{};
  std::size_t count = 0;
  for (const auto& rooms : kRooms) {
    for (std::size_t i = 0; i < kMostArrays; ++i) {
      for (const std::size_t scalar : kScalars) {
        const Room& room = rooms[i];
        all[count++] = {i + 1, scalar == 0 ? room.entries : room.with_scalars, scalar, room.blocks};
      }
    }
  }
  return all;
}();

// The number that follows the structure's name in the kernel's mangled name: "18TensorListMetadataILi3E". The length in
// front tells it from structures whose names end alike.
std::optional<std::size_t> arrays_in(std::string_view name, std::string_view structure) {
  const std::size_t begin = name.find(structure);
  if (begin == std::string_view::npos) return {};
  const std::size_t number = name.find("Li", begin + structure.size());
  constexpr std::size_t kLongestType = 8;  // before it: that of the scalars
  if (number == std::string_view::npos || number > begin + structure.size() + kLongestType) return {};
  std::size_t arrays = 0;
  const auto parsed = std::from_chars(name.data() + number + 2, name.data() + name.size(), arrays);
  if (parsed.ec != std::errc() || arrays == 0 || arrays > kMostArrays) return {};
  return arrays;
}

FilledEntries filled_tensors(const Lists& lists, std::span<const std::byte> structure, Grid grid) {
  if (grid.x == 0 || grid.x > lists.blocks) return {};
  std::size_t last = 0;
  for (std::size_t block = 0; block < grid.x; ++block) {
    const std::size_t tensor = at<std::uint8_t>(structure, lists.tensor_of_block() + block);
    if (tensor != last && (block == 0 || tensor != last + 1)) return {};
    last = tensor;
  }
  if (last >= lists.entries) return {};
  for (std::size_t tensor = 0; tensor <= last; ++tensor) {
    const auto elements = at<std::uint64_t>(structure, lists.elements() + tensor * kAddress);
    if (elements == 0 || elements > kMostElements) return {};
  }
  return {lists.arrays, lists.entries, last + 1};
}

// Concatenations come first, then lists.
template <std::size_t kCount, class Layout, class IsIt>
PartlyFilled number_of(const std::array<Layout, kCount>& layouts, std::size_t first, IsIt is_it) {
  const auto found = std::ranges::find_if(layouts, is_it);
  if (found == layouts.end()) return PartlyFilled::kNo;
  return static_cast<PartlyFilled>(first + static_cast<std::size_t>(found - layouts.begin()));
}
constexpr std::size_t kFirstInputs = 1, kFirstLists = kFirstInputs + kInputLayouts.size();

}  // namespace

PartlyFilled partly_filled(const char* name, std::size_t bytes) {
  if (name == nullptr) return PartlyFilled::kNo;
  const std::string_view kernel(name);
  if (kernel.find("CatArrayBatchedCopy") != std::string_view::npos) {
    return number_of(kInputLayouts, kFirstInputs, [&](const Inputs& inputs) { return inputs.bytes() == bytes; });
  }
  if (kernel.find("multi_tensor_apply_kernel") == std::string_view::npos) return PartlyFilled::kNo;
  const auto without = arrays_in(kernel, "18TensorListMetadataI"),
             with = arrays_in(kernel, "28TensorListScalarListMetadataI");
  return number_of(kListLayouts, kFirstLists, [&](const Lists& lists) {
    return (lists.scalar == 0 ? without : with) == lists.arrays && lists.bytes() == bytes;
  });
}

FilledEntries filled_entries(PartlyFilled which, std::span<const std::byte> structure, Grid grid) {
  const auto number = static_cast<std::size_t>(which);
  if (number < kFirstLists) return filled_inputs(kInputLayouts[number - kFirstInputs], structure, grid);
  return filled_tensors(kListLayouts[number - kFirstLists], structure, grid);
}

}  // namespace tessera::preload
