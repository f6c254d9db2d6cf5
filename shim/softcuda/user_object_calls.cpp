// cuUserObject*, cuGraphRetainUserObject, cuGraphReleaseUserObject: objects that graphs keep alive.
#include <memory>

#include "graph_call.hpp"

using namespace tessera;            // NOLINT: the entry points below are C
using namespace tessera::softcuda;  // NOLINT

namespace {

// Calls body(object) for an object held by the program.
template <class Body>
CUresult on_object(Machine& machine, CUuserObject handle, unsigned count, Body&& body) {
  const std::shared_ptr<UserObject> object = machine.user_objects.find(handle);
  if (object == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  return body(object);
}

}  // namespace

CUresult cuUserObjectCreate(CUuserObject* handle, void* data, CUhostFn end, unsigned count, unsigned flags) {
  return in_context([&](Machine& machine, Context&) {
    const bool whole = handle != nullptr && end != nullptr && count != 0;
    if (!whole || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) return CUDA_ERROR_INVALID_VALUE;
    const auto object = std::make_shared<UserObject>(data, end);
    machine.user_objects.add(object, count);
    *handle = handle_of(object.get());
    return CUDA_SUCCESS;
  });
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned count) {
  return in_context([&](Machine& machine, Context&) {
    return on_object(machine, handle, count, [&](const std::shared_ptr<UserObject>& object) {
      machine.user_objects.add(object, count);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned count) {
  std::shared_ptr<UserObject> ended;
  return in_context([&](Machine& machine, Context&) {
    const bool had = count != 0 && machine.user_objects.remove(handle, count, ended);
    return had ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject handle, unsigned count, unsigned flags) {
  std::shared_ptr<UserObject> moved;
  return on_graph(graph, [&](Machine& machine, Graph& holder) {
    if ((flags & ~static_cast<unsigned>(CU_GRAPH_USER_OBJECT_MOVE)) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return on_object(machine, handle, count, [&](const std::shared_ptr<UserObject>& object) {
      const bool moves = (flags & CU_GRAPH_USER_OBJECT_MOVE) != 0;
      if (moves && !machine.user_objects.remove(handle, count, moved)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      holder.objects.add(object, count);
      return CUDA_SUCCESS;
    });
  });
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject handle, unsigned count) {
  std::shared_ptr<UserObject> ended;
  return on_graph(graph, [&](Machine&, Graph& holder) {
    const bool had = count != 0 && holder.objects.remove(handle, count, ended);
    return had ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}
