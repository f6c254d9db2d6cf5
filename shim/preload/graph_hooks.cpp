// Executable graphs: their blocks are known from instantiation on, and are in device memory at each launch. While it
// instantiates, the driver resolves the addresses of copies and sets. It refuses to launch a graph on a capturing
// stream.
#include "capture.hpp"
#include "cuda_api.hpp"
#include "driver_room.hpp"
#include "exposure.hpp"
#include "graph_copies.hpp"
#include "graph_execs.hpp"
#include "late_copies.hpp"
#include "managed_use.hpp"
#include "outcome.hpp"
#include "resolved_addresses.hpp"
#include "true_driver.hpp"
#include "unknown_work.hpp"

using namespace tessera::preload;

namespace {

// Work that the device launches or changes by itself cannot be waited for: its blocks stay in device memory.
CUresult add_all(const GraphWords& found, KeptBlocks& kept) {
  for (const auto& [node, words] : found.by_node) {
    if (words.any_block) {
      if (const CUresult result = hold_everything("cuGraphInstantiate"); result != CUDA_SUCCESS) return result;
    }
    if (const CUresult result = kept.add(words); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

// Destroys graphs that the program has destroyed and that no executable needs for splitting any longer.
void destroy_due() {
  for (const CUgraph graph : graph_execs().take_due()) {
    if (call_true(&TrueDriver::cuGraphDestroy, graph) != CUDA_SUCCESS) {
      say("a graph kept for its executable could not be destroyed");
    }
  }
}

enum class Made { kNew, kUpdated };

using Addresses = std::span<const std::uint64_t>;

// Reads the graph before `call` instantiates it or updates `*exec` with it, and stores the result afterwards. `call`
// gets the addresses that the driver resolves.
template <class Call>
CUresult with_graph_read(CUgraphExec* exec, CUgraph graph, unsigned long long flags, Made made, Call call) {
  GraphWords found;
  // If the graph is invalid, the driver reports the error itself.
  if (running() == nullptr || exec == nullptr || read_graph(graph, found) != CUDA_SUCCESS) return call(Addresses());
  const bool by_device = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0 || found.changed_by_device;
  KeptBlocks kept("cuGraphInstantiate");
  if (by_device) {
    if (const CUresult pinned = add_all(found, kept); pinned != CUDA_SUCCESS) return pinned;
  }
  const CUresult result = kept.after(call(found.resolved));
  if (result != CUDA_SUCCESS) return result;
  // An update refers to nodes of another graph, by which the executable cannot be split.
  if (by_device || made == Made::kUpdated) {
    graph_execs().set(*exec, std::move(found));
  } else {
    graph_execs().set(*exec, std::move(found), graph, order_to_cut(graph));
  }
  destroy_due();
  return result;
}

// Fails with out of memory for these words alone, so that the reported line has the size that they need.
CUresult try_alone(const Words& words, CUstream stream) {
  const ManagedUse least(words, stream, "cuGraphLaunch", Launched::kGraph);
  return least.status();
}

// The blocks named by copied tables may differ between launches.
GraphExecs::Launchable cut_for(CUgraphExec exec, const Words& words, const GraphCopies* copies) {
  if (copies == nullptr || fits(copies->complete(words))) return graph_execs().parts(exec);
  return graph_execs().parts_for(exec, *copies);
}

// `copies`: null if no node copies a table for a kernel.
template <class Launch>
CUresult launch_words(CUgraphExec exec, CUstream stream, const Words& words, const GraphCopies* copies,
                      Launch launch_with) {
  if (words.any_block) {
    const CUresult held = hold_everything("cuGraphLaunch");
    return held == CUDA_SUCCESS ? launch_with(words) : held;
  }
  const auto cut = cut_for(exec, words, copies);
  if (cut.parts != nullptr) return launch_parts(exec, *cut.parts, words, launch_with);
  if (cut.too_large != nullptr) {
    const CUresult tried = try_alone(*cut.too_large, stream);
    if (tried != CUDA_SUCCESS) return tried;
  }
  return launch_with(words);
}

template <class Launch>
CUresult launch_copies(CUgraphExec exec, CUstream stream, const Words& words, Launch launch_with) {
  GraphCopies copies(words.copies, stream);
  if (copies.status() != CUDA_SUCCESS) return copies.status();
  const bool any = copies.add_any();
  const auto launch_with_all = [&](const Words& needed) {
    return any ? launch_with(copies.complete(needed)) : launch_with(needed);
  };
  const CUresult result = launch_words(exec, stream, words, copies.makes_tables() ? &copies : nullptr, launch_with_all);
  if (result == CUDA_SUCCESS) copies.launched();
  return result;
}

template <class Function>
CUresult launch(CUgraphExec exec, CUstream stream, Function TrueDriver::*function, CUstream given) {
  const auto words = running() != nullptr ? graph_execs().words(exec) : nullptr;
  if ((words == nullptr && !has_heap()) || capturing(stream)) return call_true(function, exec, given);
  const auto launch_with = [&](const Words& needed) {
    return with_driver_room({.stream = stream}, [&](bool& ours) {
      const ManagedUse use(needed, stream, "cuGraphLaunch", Launched::kGraph);
      ours = use.status() != CUDA_SUCCESS;
      return ours ? use.status() : call_true(function, exec, given);
    });
  };
  if (any_late_copies()) {
    late_copies().settle(words != nullptr ? WordSpans(*words) : WordSpans());
  }
  if (words == nullptr) return launch_with({});
  return words->copies.empty() ? launch_words(exec, stream, *words, nullptr, launch_with)
                               : launch_copies(exec, stream, *words, launch_with);
}

template <class Function, class... Args>
CUresult instantiate(Function TrueDriver::*function, unsigned long long flags, CUgraphExec* exec, CUgraph graph,
                     Args... args) {
  return with_graph_read(exec, graph, flags, Made::kNew, [&](Addresses addresses) {
    return with_driver_room(
        {}, [&](bool&) { return with_resolved(addresses, "cuGraphInstantiate", function, exec, graph, args...); });
  });
}

void note_again(const KnownBodies& bodies) {
  for (const auto& [node, graphs] : bodies) note_bodies(node, graphs);
}

template <class Function, class... Args>
CUresult add_node(Function TrueDriver::*function, CUgraphNodeParams* params, CUgraphNode* node, Args... args) {
  ParamsInContext in_context(params);
  const CUresult result = with_driver_room({}, [&](bool&) {
    return with_resolved(resolved_in(params), "cuGraphAddNode", function, node, args..., in_context.get());
  });
  const bool conditional = result == CUDA_SUCCESS && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL;
  if (conditional && params->conditional.phGraph_out != nullptr) {
    note_bodies(*node, {params->conditional.phGraph_out, params->conditional.size});
  }
  return result;
}

}  // namespace

TESSERA_HOOK cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, CUgraphNode* error, char* text, std::size_t room) {
  return instantiate(&TrueDriver::cuGraphInstantiate, 0, exec, graph, error, text, room);
}

TESSERA_HOOK cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode* error, char* text, std::size_t room) {
  return instantiate(&TrueDriver::cuGraphInstantiate_v2, 0, exec, graph, error, text, room);
}

TESSERA_HOOK cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  return instantiate(&TrueDriver::cuGraphInstantiateWithFlags, flags, exec, graph, flags);
}

TESSERA_HOOK cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  const unsigned long long flags = params != nullptr ? params->flags : 0;
  return instantiate(&TrueDriver::cuGraphInstantiateWithParams, flags, exec, graph, params);
}

TESSERA_HOOK cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph,
                                               CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  const unsigned long long flags = params != nullptr ? params->flags : 0;
  return instantiate(&TrueDriver::cuGraphInstantiateWithParams_ptsz, flags, exec, graph, params);
}

TESSERA_HOOK cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error, CUgraphExecUpdateResult* outcome) {
  return with_graph_read(&exec, graph, 0, Made::kUpdated, [&](Addresses resolved) {
    return with_resolved(resolved, "cuGraphExecUpdate", &TrueDriver::cuGraphExecUpdate, exec, graph, error, outcome);
  });
}

TESSERA_HOOK cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* outcome) {
  return with_graph_read(&exec, graph, 0, Made::kUpdated, [&](Addresses resolved) {
    return with_resolved(resolved, "cuGraphExecUpdate", &TrueDriver::cuGraphExecUpdate_v2, exec, graph, outcome);
  });
}

TESSERA_HOOK_PTSZ(cuGraphLaunch, (CUgraphExec exec, CUstream given), { return launch(exec, stream, True, given); })

// Forgotten before the call: afterwards a graph of another thread may have the same handle.
TESSERA_HOOK cuGraphExecDestroy(CUgraphExec exec) {
  GraphWords held = graph_execs().forget(exec);
  const CUresult result = call_true(&TrueDriver::cuGraphExecDestroy, exec);
  if (result != CUDA_SUCCESS && !held.by_node.empty()) graph_execs().set(exec, std::move(held));
  expect_device_memory();
  destroy_due();
  return result;
}

// A graph whose executable has to be split is kept until the executable ends: its nodes identify the parts.
TESSERA_HOOK cuGraphDestroy(CUgraph graph) {
  if (running() != nullptr && graph_execs().keep(graph)) return CUDA_SUCCESS;
  const KnownBodies bodies = forget_bodies_in(graph);
  const CUresult result = call_true(&TrueDriver::cuGraphDestroy, graph);
  if (result != CUDA_SUCCESS) note_again(bodies);
  return result;
}

// ---- conditional nodes: only this call returns their graphs ------------------------------------

TESSERA_HOOK cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, std::size_t count,
                            CUgraphNodeParams* params) {
  return add_node(&TrueDriver::cuGraphAddNode, params, node, graph, after, count);
}

TESSERA_HOOK cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges,
                               std::size_t count, CUgraphNodeParams* params) {
  return add_node(&TrueDriver::cuGraphAddNode_v2, params, node, graph, after, edges, count);
}

TESSERA_HOOK cuGraphAddNode_v3(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges,
                               std::size_t count, CUgraphNodeParams* params) {
  return add_node(&TrueDriver::cuGraphAddNode_v3, params, node, graph, after, edges, count);
}

TESSERA_HOOK cuGraphDestroyNode(CUgraphNode node) {
  if (running() != nullptr) graph_execs().forget_node(node);
  const KnownBodies bodies = forget_bodies(node);
  const CUresult result = call_true(&TrueDriver::cuGraphDestroyNode, node);
  if (result != CUDA_SUCCESS) note_again(bodies);
  return result;
}
