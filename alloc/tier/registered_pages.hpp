// Host pages registered with the spill files: attached when they are opened, and detached before they are closed, so
// that transfers need not look the memory up each time.
//
// Thread safety: as in host_pages.hpp.
#pragma once

#include "tier/file_tier.hpp"
#include "tier/host_pages.hpp"

namespace tessera {

class RegisteredPages final : public HostPages {
 public:
  // REQUIRES: both outlive it.
  RegisteredPages(HostPages& pages, FileTier& file) : pages_(pages), file_(file) {}

  void place(void* start, Bytes bytes, unsigned node) override { pages_.place(start, bytes, node); }
  bool open(void* start, Bytes bytes) override {
    if (!pages_.open(start, bytes)) return false;
    file_.attach(start, bytes);
    return true;
  }
  void close(void* start, Bytes bytes) override {
    file_.detach(start);
    pages_.close(start, bytes);
  }

 private:
  HostPages& pages_;
  FileTier& file_;
};

}  // namespace tessera
