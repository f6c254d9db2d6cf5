#include "sim/pace.hpp"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <thread>

namespace tessera {
namespace {

using std::chrono::nanoseconds;

constexpr double kPart = 0.25;           // of the processors
constexpr double kOfThePrograms = 1;     // processors that the program's own thread can use
constexpr double kPartOfFew = 1.0 / 32;  // of the processors, where the program could use all of them
constexpr double kLeastShare = 0.001;
constexpr nanoseconds kSlice{10'000'000};  // interval at which a sleep checks `stop`

nanoseconds thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

}  // namespace

double Pace::share_of(double processors, std::size_t threads) {
  const double spare = std::clamp(processors - kOfThePrograms, processors * kPartOfFew, processors * kPart);
  return std::clamp(spare / static_cast<double>(threads), kLeastShare, 1.0);
}

nanoseconds Pace::rest_after(nanoseconds worked) const {
  const double rest = static_cast<double>(worked.count()) * (1 / share_ - 1);
  return nanoseconds(static_cast<std::int64_t>(rest));
}

Pace::Turn::Turn(const Pace& pace) : pace_(pace), began_(thread_time()) {}

Pace::Turn::~Turn() {
  nanoseconds left = pace_.rest_after(thread_time() - began_);
  for (; left > nanoseconds(0) && !pace_.stop_.load(); left -= kSlice)
    std::this_thread::sleep_for(std::min(left, kSlice));
}

}  // namespace tessera
