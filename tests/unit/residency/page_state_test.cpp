#include "residency/pages/page_state.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

constexpr auto kFirst = PageState::kEmpty;
constexpr auto kLast = PageState::kLost;
constexpr auto kFirstEvent = PageEvent::kBack;
constexpr auto kLastEvent = PageEvent::kLose;

// The complete table, one line per state: event>state; illegal events are omitted.
std::string table() {
  std::string text;
  for (int state = static_cast<int>(kFirst); state <= static_cast<int>(kLast); ++state) {
    text += std::string(name_of(static_cast<PageState>(state))) + ":";
    for (int event = static_cast<int>(kFirstEvent); event <= static_cast<int>(kLastEvent); ++event) {
      const auto to = next(static_cast<PageState>(state), static_cast<PageEvent>(event));
      if (to) text += std::string(" ") + name_of(static_cast<PageEvent>(event)) + ">" + name_of(*to);
    }
    text += "\n";
  }
  return text;
}

TEST(PageState, TheTableHasExactlyTheseTransitions) {
  EXPECT_EQ(
      table(),
      "empty: back>resident map-host>zero-copy\n"
      "resident: copy-out>leaving check>checking part>parting take-apart>apart unmap>cold discard>empty drop>gone "
      "map-host>zero-copy keep-mapped>reachable\n"
      "leaving: forward>resident unmap>cold discard>empty\n"
      "checking: checked>resident discard>empty\n"
      "parting: forward>resident take-apart>apart discard>empty\n"
      "apart: back>resident copy-out>apart-leaving check>apart-checking unmap>cold discard>empty\n"
      "apart-leaving: back>leaving unmap>cold discard>empty\n"
      "apart-checking: back>checking checked>apart discard>empty\n"
      "apart-arriving: back>arriving unmap>cold discard>empty\n"
      "cold: discard>empty sink>sinking rise>rising copy-in>arriving copy-in-apart>apart-arriving drop>gone "
      "map-host>zero-copy\n"
      "sinking: sunk>cold\n"
      "rising: risen>cold rise-failed>cold lose>lost\n"
      "arriving: discard>empty arrive>resident\n"
      "gone: discard>empty mount>blank\n"
      "blank: back>resident discard>empty drop>gone recompute>recomputing\n"
      "recomputing: discard>empty recomputed>resident\n"
      "zero-copy: back>resident discard>empty lose>lost\n"
      "reachable: back>resident discard>empty map-host>zero-copy lose>lost\n"
      "lost: discard>empty\n");
}

TEST(PageState, PresentPagesAreMappedAndArrivingOnesAreMappedOnly) {
  EXPECT_TRUE(is_present(PageState::kResident) && is_mapped(PageState::kResident));
  EXPECT_TRUE(is_present(PageState::kEvicting) && is_mapped(PageState::kEvicting));
  EXPECT_TRUE(is_present(PageState::kChecking) && is_mapped(PageState::kChecking));
  EXPECT_TRUE(is_present(PageState::kParting) && is_mapped(PageState::kParting));
  for (PageState state :
       {PageState::kApart, PageState::kApartEvicting, PageState::kApartChecking, PageState::kApartFetching}) {
    EXPECT_TRUE(is_apart(state) && !is_present(state) && !is_mapped(state)) << name_of(state);
  }
  for (PageState state : {PageState::kFetching, PageState::kBlank, PageState::kRecomputing}) {
    EXPECT_TRUE(!is_present(state) && is_mapped(state)) << name_of(state);
  }
  EXPECT_TRUE(is_present(PageState::kZeroCopy) && !is_mapped(PageState::kZeroCopy) && !is_moving(PageState::kZeroCopy));
  for (PageState state : {PageState::kEmpty, PageState::kCold, PageState::kSpilling, PageState::kLoading,
                          PageState::kGone, PageState::kLost}) {
    EXPECT_FALSE(is_present(state) || is_mapped(state)) << name_of(state);
  }
}

TEST(PageState, AMovingStateIsLeftOnlyByItsEnd) {
  for (PageState state : {PageState::kSpilling, PageState::kLoading}) {
    EXPECT_TRUE(is_moving(state));
    EXPECT_FALSE(next(state, PageEvent::kDiscard).has_value());
  }
  EXPECT_TRUE(is_moving(PageState::kEvicting) && is_moving(PageState::kFetching));
  EXPECT_TRUE(is_moving(PageState::kParting) && is_moving(PageState::kApartEvicting));
  EXPECT_TRUE(is_moving(PageState::kApartChecking) && !is_moving(PageState::kApart));
  EXPECT_TRUE(is_moving(PageState::kApartFetching) && !is_evicting(PageState::kApartFetching));
  EXPECT_TRUE(is_moving(PageState::kRecomputing) && !is_moving(PageState::kBlank));
  EXPECT_FALSE(is_moving(PageState::kResident) || is_moving(PageState::kCold));
}

}  // namespace
}  // namespace tessera
