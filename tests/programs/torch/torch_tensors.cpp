// Tensors in segments of PyTorch's allocator (stand_in.hpp), more of them than the device has room for.
//
//   torch_tensors KERNELS often|expandable|native|graph|threads|false BYTES
//
// often       tensors in one growing segment, a few of which are used after that
// expandable  tensors in one growing segment. Some are used often, some are freed and others made in their place, of
//             other sizes; the end of the segment is unmapped, and mapped again
// native      a large tensor leaves a segment that the next ones are cut from; then it goes back to the driver
// graph       tensors that are made and freed while a graph is captured, which is launched between other work
// threads     tensors made, used and freed by four threads
// false       entries of the trace that are wrong: unknown addresses, overlapping tensors, tensors without bytes
//
// BYTES is the memory of the tensors. Prints "ok" if every byte is right.
//
// Thread safety: one thread, but for `threads`.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "stand_in.hpp"

namespace {

using torch_stand_in::Allocator;
using Entry = c10::cuda::CUDACachingAllocator::TraceEntry;

constexpr std::size_t kMiB = std::size_t{1} << 20, kHandle = 20 * kMiB;
constexpr int kTensors = 12, kOften = 4, kRounds = 20;

CUmodule module;

struct Tensor {
  CUdeviceptr at;
  std::size_t bytes;
  int value;
};

Tensor made(Allocator& from, std::size_t bytes, int value, CUstream stream = nullptr) {
  const Tensor tensor{from.allocate(bytes, stream), bytes, value};
  CHECK(cuMemsetD32Async(tensor.at, static_cast<unsigned>(value), bytes / sizeof(int), stream));
  return tensor;
}

void use(Tensor& tensor, CUstream stream = nullptr) {
  CUfunction function;
  CHECK(cuModuleGetFunction(&function, module, "add_one"));
  int count = static_cast<int>(tensor.bytes / sizeof(int));
  void* parameters[] = {&tensor.at, &count};
  CHECK(cuLaunchKernel(function, (static_cast<unsigned>(count) + 255) / 256, 1, 1, 256, 1, 1, 0, stream, parameters,
                       nullptr));
  ++tensor.value;
}

bool is_right(const Tensor& tensor, int number) {
  return block_holds(tensor.at, static_cast<int>(tensor.bytes / sizeof(int)), number, tensor.value) != 0;
}

bool are_right(const std::vector<Tensor>& tensors) {
  bool right = true;
  for (std::size_t i = 0; i < tensors.size(); ++i) right = is_right(tensors[i], static_cast<int>(i)) && right;
  return right;
}

std::vector<Tensor> all_made(Allocator& from, std::size_t bytes) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < kTensors; ++i) tensors.push_back(made(from, bytes / kTensors - 512, 100 * i));
  for (Tensor& tensor : tensors) use(tensor);
  return tensors;
}

void use_often(std::vector<Tensor>& tensors) {
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kOften; ++i) use(tensors[static_cast<std::size_t>(i)]);
  }
}

// Frees the tensors in the middle, and makes more and fewer of them in their place.
void replace_some(Allocator& from, std::vector<Tensor>& tensors) {
  constexpr std::size_t kFirst = 4, kEnd = 8;
  std::size_t freed = 0;
  for (std::size_t i = kFirst; i < kEnd; ++i) {
    from.free(tensors[i].at, i % 2 == 0);
    freed += tensors[i].bytes;
  }
  from.finish_frees();
  tensors.erase(tensors.begin() + kFirst, tensors.begin() + kEnd);
  for (const std::size_t part : {2U, 3U, 7U}) tensors.push_back(made(from, freed / part / 512 * 512 - 512, 7));
  for (Tensor& tensor : tensors) use(tensor);
}

void free_all(Allocator& from, std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) from.free(tensor.at);
  tensors.clear();
  from.empty_cache();
}

bool often(Allocator& from, std::size_t bytes) {
  std::vector<Tensor> tensors = all_made(from, bytes);
  use_often(tensors);
  const bool right = are_right(tensors);
  free_all(from, tensors);
  return right;
}

bool expandable(Allocator& from, std::size_t bytes) {
  std::vector<Tensor> tensors = all_made(from, bytes);
  use_often(tensors);
  replace_some(from, tensors);
  bool right = are_right(tensors);
  from.free(tensors.back().at);
  tensors.pop_back();
  from.free(tensors[6].at);
  tensors.erase(tensors.begin() + 6);
  from.empty_cache();
  for (int i = 0; i < 3; ++i) tensors.push_back(made(from, bytes / kTensors + 512, i));
  for (Tensor& tensor : tensors) use(tensor);
  right = are_right(tensors) && right;
  free_all(from, tensors);
  tensors.push_back(made(from, bytes / 4, 5));
  use(tensors.back());
  right = are_right(tensors) && right;
  free_all(from, tensors);
  return right;
}

bool native(Allocator& from, std::size_t bytes) {
  bool right = true;
  for (int turn = 0; turn < 2; ++turn) {
    from.free(from.allocate(bytes));
    std::vector<Tensor> tensors = all_made(from, bytes);
    use_often(tensors);
    replace_some(from, tensors);
    right = are_right(tensors) && right;
    free_all(from, tensors);
  }
  return right;
}

bool graph(Allocator& from, std::size_t bytes) {
  std::vector<Tensor> tensors = all_made(from, bytes);
  CUstream stream;
  CUgraph captured;
  CUgraphExec exec;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuCtxSynchronize());
  from.set_private_pool(1);
  // What a warm-up leaves: this segment is there before the capture.
  Tensor early = made(from, bytes / 3, 0, stream);
  use(early, stream);
  CHECK(cuStreamSynchronize(stream));
  from.free(early.at);
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (const std::size_t part : {6U, 3U, 4U}) {
    Tensor inner{from.allocate(bytes / part, stream), bytes / part, 0};
    use(inner, stream);
    from.free(inner.at);
  }
  use(tensors[1], stream);
  --tensors[1].value;
  CHECK(cuStreamEndCapture(stream, &captured));
  from.set_private_pool(0);
  CHECK(cuGraphInstantiate(&exec, captured, 0));
  for (int round = 0; round < 3; ++round) {
    for (Tensor& tensor : tensors) use(tensor);
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    ++tensors[1].value;
  }
  const bool right = are_right(tensors);
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(captured));
  CHECK(cuStreamDestroy(stream));
  free_all(from, tensors);
  return right;
}

bool threads(Allocator& from, CUcontext context, std::size_t bytes) {
  std::array<bool, 4> right{};
  std::vector<std::thread> all;
  for (std::size_t number = 0; number < right.size(); ++number) {
    all.emplace_back([&from, &right, context, bytes, number] {
      CHECK(cuCtxSetCurrent(context));
      CUstream stream;
      CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      right[number] = true;
      for (int i = 0; i < 24; ++i) {
        const std::size_t size = bytes / (4 + (static_cast<std::size_t>(i) + number) % 5) / 512 * 512;
        Tensor tensor = made(from, size / 4, i, stream);
        Tensor other = made(from, size / 2, i + 1, stream);
        use(tensor, stream);
        use(other, stream);
        CHECK(cuStreamSynchronize(stream));
        from.free(tensor.at);
        right[number] = is_right(other, i) && right[number];
        from.free(other.at);
      }
      CHECK(cuStreamDestroy(stream));
    });
  }
  for (std::thread& thread : all) thread.join();
  return right[0] && right[1] && right[2] && right[3];
}

bool with_false_entries(Allocator& from, std::size_t bytes) {
  std::vector<Tensor> tensors = all_made(from, bytes);
  from.say_falsely(Entry::ALLOC, 4096, kMiB);
  from.say_falsely(Entry::ALLOC, ~CUdeviceptr{0} - 4096, kMiB);
  from.say_falsely(Entry::ALLOC, tensors[3].at, 0);
  from.say_falsely(Entry::FREE_COMPLETED, 4096, kMiB);
  from.say_falsely(Entry::FREE_COMPLETED, tensors[2].at + kMiB, kMiB);
  from.say_falsely(Entry::OOM, 12345, kMiB);
  use_often(tensors);
  from.say_falsely(Entry::ALLOC, tensors[4].at + tensors[4].bytes / 2, tensors[4].bytes);
  for (Tensor& tensor : tensors) use(tensor);
  from.say_falsely(Entry::FREE_COMPLETED, tensors[4].at + tensors[4].bytes / 2, tensors[4].bytes);
  from.say_falsely(Entry::ALLOC, tensors[7].at + 512, 512);
  for (Tensor& tensor : tensors) use(tensor);
  return are_right(tensors);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string how = argv[2];
  const std::size_t bytes = std::strtoull(argv[3], nullptr, 10);
  CUcontext context;
  const CUdevice device = open_device(&context);
  CHECK(cuModuleLoad(&module, argv[1]));
  std::size_t total = 0;
  CHECK(cuDeviceTotalMem(&total, device));
  // Not destroyed: what listens to it stays.
  const auto kind = how == "native" ? Allocator::Kind::kNative : Allocator::Kind::kExpandable;
  Allocator& from = *new Allocator(kind, kind == Allocator::Kind::kNative ? 2 * kMiB : kHandle, total / 8 * 9);
  c10::cuda::CUDACachingAllocator::allocator.store(&from);
  bool right = false;
  if (how == "often") right = often(from, bytes);
  if (how == "expandable") right = expandable(from, bytes);
  if (how == "native") right = native(from, bytes);
  if (how == "graph") right = graph(from, bytes);
  if (how == "threads") right = threads(from, context, bytes);
  if (how == "false") right = with_false_entries(from, bytes);
  CHECK(cuCtxSynchronize());
  std::puts(right ? "ok" : "wrong");
  return right ? 0 : 1;
}
