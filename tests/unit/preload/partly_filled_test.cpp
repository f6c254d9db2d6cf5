#include "partly_filled.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tessera::preload {
namespace {

constexpr const char* kConcatenation =
    "_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c30CatArrayBatchedCopy_vectorizedINS1_10OpaqueTypeILj2EEEj"
    "Li3ELi128ELi1ELi16ELi8EEEvPcNS1_25CatArrInputTensorMetadataIT_T0_XT2_EXT3_EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_";

std::string lists(int arrays) {
  return "_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_18TensorListMetadataILi" + std::to_string(arrays) +
         "EEENS1_14UnaryOpFunctorIfLi2ELi1ELi1EEEJNS0_4SqrtIfEEEEEvT_T0_DpT1_";
}

std::string scalar_lists(const char* scalar, int arrays) {
  return std::string("_ZN2at6native12_GLOBAL__N_125multi_tensor_apply_kernelINS1_28TensorListScalarListMetadataI") +
         scalar + "Li" + std::to_string(arrays) + "EEENS1_28PointwiseOpScalarListFunctorIfLi3ELi3ELi0EEEEEvT_T0_DpT1_";
}

// A structure as a launch leaves it on the stack: full of what earlier ones wrote.
class Structure {
 public:
  explicit Structure(std::size_t bytes) : bytes_(bytes, std::byte{0x5a}) {}
  template <class T>
  void set(std::size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(value));
  }
  FilledEntries filled(const std::string& name, Grid grid) const {
    const PartlyFilled which = partly_filled(name.c_str(), bytes_.size());
    EXPECT_NE(which, PartlyFilled::kNo) << name;
    return filled_entries(which, bytes_, grid);
  }

 private:
  std::vector<std::byte> bytes_;
};

// ---- concatenations -----------------------------------------------------------------------------

constexpr std::size_t kInputs = 128, kOffset = kInputs * 8, kSize = kOffset + kInputs * 4,
                      kElements = kSize + kInputs * 4;
constexpr std::size_t kConcatenationBytes = 128 * (8 + 3 * 4 + 1) + 32;

Structure concatenation(std::uint32_t inputs) {
  Structure made(kConcatenationBytes);
  for (std::uint32_t i = 0; i < inputs; ++i) {
    made.set(kOffset + 4 * i, std::uint32_t{1024} * i);
    made.set(kSize + 4 * i, std::uint32_t{1024});
    made.set(kElements + 4 * i, std::uint32_t{1 << 22});
  }
  return made;
}

TEST(PartlyFilled, AConcatenationHasAsManyInputsAsTheGridIsHigh) {
  const FilledEntries found = concatenation(3).filled(kConcatenation, {512, 3});
  EXPECT_EQ(found.arrays, 1u);
  EXPECT_EQ(found.entries, 128u);
  EXPECT_EQ(found.filled, 3u);
}

TEST(PartlyFilled, AConcatenationInWhichNumbersDoNotAgreeIsNotKnown) {
  Structure gap = concatenation(3);
  gap.set(kOffset + 8, std::uint32_t{4096});
  EXPECT_EQ(gap.filled(kConcatenation, {512, 3}).filled, 0u);
  Structure empty = concatenation(3);
  empty.set(kElements + 4, std::uint32_t{0});
  EXPECT_EQ(empty.filled(kConcatenation, {512, 3}).filled, 0u);
  EXPECT_EQ(concatenation(3).filled(kConcatenation, {512, 4}).filled, 0u) << "the fourth was not written";
  EXPECT_EQ(concatenation(3).filled(kConcatenation, {512, 0}).filled, 0u) << "the grid is not known";
  EXPECT_EQ(concatenation(128).filled(kConcatenation, {512, 129}).filled, 0u);
}

// ---- lists of tensors ---------------------------------------------------------------------------

struct Shape {
  std::string name;
  std::size_t arrays, entries, scalar, blocks, bytes;
};

// The sizes are those that a compiler gives the structures.
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {{lists(1), 1, 110, 0, 320, 3368},
                                         {lists(2), 2, 64, 0, 320, 3144},
                                         {lists(3), 3, 48, 0, 320, 3144},
                                         {lists(4), 4, 36, 0, 320, 3048},
                                         {lists(5), 5, 30, 0, 320, 3048},
                                         {scalar_lists("f", 1), 1, 96, 4, 320, 3520},
                                         {scalar_lists("d", 3), 3, 48, 8, 320, 3520},
                                         {lists(2), 2, 256, 0, 4863, 30464},
                                         {scalar_lists("f", 3), 3, 256, 4, 4453, 31488}};
  return all;
}

Structure tensors(const Shape& shape, std::uint32_t tensors, std::uint32_t blocks) {
  Structure made(shape.bytes);
  const std::size_t elements = shape.arrays * shape.entries * 8;
  for (std::uint32_t i = 0; i < tensors; ++i) made.set(elements + 8 * i, std::uint64_t{100'000});
  const std::size_t of_block = elements + shape.entries * (8 + shape.scalar);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    made.set(of_block + i, static_cast<std::uint8_t>(std::min(i / 2, tensors - 1)));
  }
  return made;
}

TEST(PartlyFilled, OfListsTheTensorsOfTheGridsBlocksCount) {
  for (const Shape& shape : shapes()) {
    const FilledEntries found = tensors(shape, 7, 20).filled(shape.name, {20, 1});
    EXPECT_EQ(found.arrays, shape.arrays) << shape.name;
    EXPECT_EQ(found.entries, shape.entries) << shape.name;
    EXPECT_EQ(found.filled, 7u) << shape.name;
    EXPECT_EQ(tensors(shape, 7, 20).filled(shape.name, {5, 1}).filled, 3u) << "a smaller grid: " << shape.name;
  }
}

TEST(PartlyFilled, ListsInWhichNumbersDoNotAgreeAreNotKnown) {
  for (const Shape& shape : shapes()) {
    const std::size_t elements = shape.arrays * shape.entries * 8;
    const std::size_t of_block = elements + shape.entries * (8 + shape.scalar);
    Structure skips = tensors(shape, 7, 20);
    skips.set(of_block + 6, std::uint8_t{5});
    EXPECT_EQ(skips.filled(shape.name, {20, 1}).filled, 0u) << shape.name;
    Structure late = tensors(shape, 7, 20);
    late.set(of_block, std::uint8_t{1});
    EXPECT_EQ(late.filled(shape.name, {20, 1}).filled, 0u) << shape.name;
    Structure empty = tensors(shape, 7, 20);
    empty.set(elements + 8, std::uint64_t{0});
    EXPECT_EQ(empty.filled(shape.name, {20, 1}).filled, 0u) << shape.name;
    EXPECT_EQ(tensors(shape, 7, 20).filled(shape.name, {static_cast<unsigned>(shape.blocks + 1), 1}).filled, 0u);
    EXPECT_EQ(tensors(shape, 7, 20).filled(shape.name, {0, 1}).filled, 0u);
  }
}

// ---- which parameters ---------------------------------------------------------------------------

TEST(PartlyFilled, OnlyTheStructureItselfIsKnown) {
  EXPECT_NE(partly_filled(kConcatenation, kConcatenationBytes), PartlyFilled::kNo);
  EXPECT_EQ(partly_filled(kConcatenation, 32), PartlyFilled::kNo) << "the output's strides";
  EXPECT_EQ(partly_filled(kConcatenation, kConcatenationBytes + 8), PartlyFilled::kNo);
  EXPECT_EQ(partly_filled("my_kernel", kConcatenationBytes), PartlyFilled::kNo);
  EXPECT_EQ(partly_filled(nullptr, kConcatenationBytes), PartlyFilled::kNo);
  EXPECT_NE(partly_filled(lists(2).c_str(), 3144), PartlyFilled::kNo);
  EXPECT_NE(partly_filled(scalar_lists("f", 1).c_str(), 3520), PartlyFilled::kNo);
  EXPECT_EQ(partly_filled(lists(1).c_str(), 3520), PartlyFilled::kNo) << "it has no scalars";
  EXPECT_EQ(partly_filled(lists(7).c_str(), 3144), PartlyFilled::kNo);
  EXPECT_EQ(partly_filled("multi_tensor_apply_kernelINS1_32FusedOptimizerTensorListMetadataILi2EEE", 3144),
            PartlyFilled::kNo);
  EXPECT_EQ(partly_filled("multi_tensor_apply_kernel", 3144), PartlyFilled::kNo);
  EXPECT_EQ(partly_filled("multi_tensor_apply_kernel_18TensorListMetadataI", 3144), PartlyFilled::kNo);
}

}  // namespace
}  // namespace tessera::preload
