// The copies in a graph that may store addresses where no launch shows them.
//
// The source memory of such a copy may hold different addresses at each launch (onnxruntime#32121), so it is read at
// graph launch. Nodes are processed in the graph's own node order, as far as one reads what another wrote: captures and
// programs create nodes in a valid order. Contents that one node writes and a later node overwrites may have been used
// in between, so they count for this launch. Nodes of a conditional body may not run, so what they write counts in
// addition to the previous contents.
//
// Of other tables a kernel may use a part, or none. A copy of nothing but addresses, to the very place that a kernel of
// the graph is given, is for that kernel: without all of these blocks the launch is out of memory, and does not fault.
//
// Thread safety: any thread; a GraphCopies belongs to one.
#pragma once

#include <deque>
#include <vector>

#include "copied_words.hpp"
#include "cuda_api.hpp"
#include "graph_words.hpp"

namespace tessera::preload {

// The copies of all nodes, each once, in node order.
std::vector<NodeCopy> copies_in_order(const GraphWords& nodes);

// The copies of one launch. Constructed before the driver is asked for the launch.
class GraphCopies {
 public:
  // Reads the sources of the copies. Stops when status() is no longer success.
  GraphCopies(const std::vector<NodeCopy>& copies, CUstream stream);

  // On failure, a block whose address the copies store outside the heap cannot stay in device memory.
  CUresult status() const { return status_; }
  // Whether kernels may use more than the nodes name and tables say by now.
  bool add_any() const { return !between_.empty() || makes_tables(); }
  // ... which some of them surely do.
  bool makes_tables() const { return !tables_.empty(); }
  // The words of some of its nodes, with what else their kernels use.
  Words complete(const Words& words) const;
  void launched();

 private:
  struct Table {
    CUdeviceptr at;
    std::vector<std::uint64_t> words;
  };

  std::deque<CopiedWords> outside_;
  Words between_;
  std::vector<Table> tables_;  // of nothing but addresses
  CUresult status_ = CUDA_SUCCESS;
};

}  // namespace tessera::preload
