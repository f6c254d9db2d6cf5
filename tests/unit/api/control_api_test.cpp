#include "tessera/control.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace {

std::string name_of(const tessera_process_identity& identity) {
  char name[TESSERA_CONTROL_NAME_BYTES];
  tessera_control_name(&identity, name);
  return name;
}

TEST(ControlApi, AProcessHasTheIdentityThatOthersSee) {
  tessera_process_identity own{}, asked{};
  ASSERT_EQ(tessera_process_identity_of(0, &own), TESSERA_OK);
  ASSERT_EQ(tessera_process_identity_of(::getpid(), &asked), TESSERA_OK);
  EXPECT_EQ(own.pid, ::getpid());
  EXPECT_NE(own.pid_namespace, 0u);
  EXPECT_GT(own.start_ticks, 0u);
  EXPECT_EQ(name_of(own), name_of(asked));
}

TEST(ControlApi, AParentStartedNoLater) {
  tessera_process_identity own{}, parent{};
  ASSERT_EQ(tessera_process_identity_of(0, &own), TESSERA_OK);
  ASSERT_EQ(tessera_process_identity_of(::getppid(), &parent), TESSERA_OK);
  EXPECT_LE(parent.start_ticks, own.start_ticks);
  EXPECT_NE(name_of(own), name_of(parent));
}

TEST(ControlApi, AnUnknownProcessIsNotFound) {
  tessera_process_identity identity{};
  EXPECT_EQ(tessera_process_identity_of(999999999, &identity), TESSERA_NOT_FOUND);
  EXPECT_EQ(tessera_process_identity_of(0, nullptr), TESSERA_INVALID_ARGUMENT);
}

TEST(ControlApi, TheLargestNameFits) {
  const tessera_process_identity largest{INT64_MAX, UINT64_MAX, UINT64_MAX};
  EXPECT_EQ(name_of(largest), "9223372036854775807.ffffffffffffffff.ffffffffffffffff.sock");
}

}  // namespace
