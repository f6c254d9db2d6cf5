#include "api/last_known.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>

#include <fmt/core.h>

namespace tessera {

Status LastKnown::update(std::string_view text) {
  const Bytes size(text.size());
  if (size > kMost) return {};
  const Bytes at = kTexts + size <= begin_ ? kTexts : end_;
  Status written = file_.write_at(at, text);
  if (written.is_ok()) {
    std::string line = fmt::format("{{\"tessera_last_known\":{},\"pid\":{},\"at\":{},\"bytes\":{}}}", ++updates_,
                                   ::getpid(), at.value(), size.value());
    line.resize(kLine.value() - 1, ' ');
    written = file_.write_at(kLine * (updates_ % 2), line + "\n");
  }
  begin_ = at;
  end_ = at + size;
  ended_ = !written.is_ok();
  return written;
}

void LastKnown::wait_after(Nanoseconds began, Nanoseconds ended) {
  due_ = ended + std::max(kBetween, (ended - began) * kShare);
}

}  // namespace tessera
