// This program's part of the spill space and of the write budget that all programs of the machine share.
//
// Thread safety: as FileLease.
#pragma once

#include "node/node_budget.hpp"
#include "tier/file_lease.hpp"

namespace tessera {

class NodeFile final : public FileLease {
 public:
  // Null: that is the program's own. REQUIRES: they outlive it.
  NodeFile(NodeBudget* room, NodeBudget* writes) : room_(room), writes_(writes) {}

  bool take(Bytes bytes) override { return room_ == nullptr || room_->take(bytes); }
  void give(Bytes bytes) override {
    if (room_ != nullptr) room_->give(bytes);
  }
  bool take_writes(Bytes bytes) override { return writes_ == nullptr || writes_->take(bytes); }
  // Call a few times a second: returns grants that are not used. True if others are entitled to more.
  bool look();

 private:
  NodeBudget* const room_;
  NodeBudget* const writes_;
};

}  // namespace tessera
