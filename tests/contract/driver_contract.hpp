// One suite for every Driver: each rule and call of driver/driver.hpp, and nothing else.
//
// Instantiate it with one line, TESSERA_JOIN_DRIVER_CONTRACT(Name, Machine), in namespace tessera::contract;
// driver_fixture.hpp defines what a Machine has.
//
// Thread safety: a test suite.
#pragma once

#include "driver_fingerprint_contract.hpp"
#include "driver_memory_contract.hpp"
#include "driver_work_contract.hpp"

#define TESSERA_JOIN_DRIVER_CONTRACT(name, machine)                    \
  INSTANTIATE_TYPED_TEST_SUITE_P(name, DriverMemoryContract, machine); \
  INSTANTIATE_TYPED_TEST_SUITE_P(name, DriverWorkContract, machine);   \
  INSTANTIATE_TYPED_TEST_SUITE_P(name, DriverFingerprintContract, machine)
