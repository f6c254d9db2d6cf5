// A file that begins as a program for the given processor and word size does.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

class TestElf {
 public:
  TestElf(unsigned char bits, Elf64_Half machine) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = bits;
    header.e_type = ET_EXEC;
    header.e_machine = machine;
    std::ofstream file(path_, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof(header));
  }
  ~TestElf() { std::filesystem::remove(path_); }
  TestElf(const TestElf&) = delete;
  TestElf& operator=(const TestElf&) = delete;
  const std::string& path() const { return path_; }

 private:
  static int next() {
    static int number = 0;
    return ++number;
  }
  const std::string path_ = ::testing::TempDir() + "elf_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(next());
};
