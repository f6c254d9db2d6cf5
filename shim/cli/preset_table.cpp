// The presets of `tessera run`: one row for each framework, with the versions that read the variables, and the public
// source for that. docs/frameworks.md explains them.
#include "presets.hpp"

namespace {

// Through 2.8 PyTorch reads only the old name; 2.9.1 reads the new one for other devices than CUDA
// (pytorch/pytorch#183387); 2.11 and newer read the new name first. Both names must agree: a backend that differs
// between the load of the library and its first use is an error (pytorch/pytorch#104801).
constexpr PresetVariable kTorchAsync[] = {{"PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync"},
                                          {"PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync"}};
// 21 MiB is the least that all versions accept: those before 2.9 require more than 20.
constexpr PresetVariable kTorchNative[] = {{"PYTORCH_ALLOC_CONF", "max_split_size_mb:21"},
                                           {"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:21"}};
constexpr const char* kSegmentsStay =
    "PyTorch then maps its segments itself: a launch fetches as much of them as fits, or its tensors if `python -m "
    "tessera torch-listener` was run once; without this setting, or with expandable_segments:False, its tensors move "
    "one by one";
constexpr PresetConflict kTorchConflicts[] = {{nullptr, "backend:cudaMallocAsync", ""},
                                              {nullptr, "backend:", "segments move as a whole, not tensor by tensor"},
                                              {nullptr, "expandable_segments:True", kSegmentsStay}};
constexpr PresetConflict kNativeConflicts[] = {{nullptr, "backend:cudaMallocAsync", ""},
                                               {nullptr, "max_split_size_mb:", ""},
                                               {nullptr, "expandable_segments:True", kSegmentsStay}};

constexpr PresetVariable kJax[] = {{"XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async"},
                                   {"XLA_PYTHON_CLIENT_PREALLOCATE", "false"}};
constexpr const char* kArenaStays =
    "from JAX 0.10.2 on this allocator maps its memory itself, and it moves as a whole, not buffer by buffer";
constexpr PresetConflict kJaxConflicts[] = {
    {"XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async", ""},
    {"XLA_PYTHON_CLIENT_ALLOCATOR", "", kArenaStays},
    {"TF_FORCE_UNIFIED_MEMORY", "true",
     "JAX then takes managed memory: the driver moves it, not Tessera; without this setting Tessera does"},
    {"TF_FORCE_UNIFIED_MEMORY", "1",
     "JAX then takes managed memory: the driver moves it, not Tessera; without this setting Tessera does"}};

constexpr PresetVariable kTensorFlow[] = {{"TF_GPU_ALLOCATOR", "cuda_malloc_async"}};
constexpr PresetConflict kTensorFlowConflicts[] = {
    {"TF_GPU_ALLOCATOR", "cuda_malloc_async", ""},
    {"TF_GPU_ALLOCATOR", "", "TensorFlow's arena moves as a whole, not tensor by tensor"},
    {"TF_FORCE_UNIFIED_MEMORY", "true", ""},
    {"TF_FORCE_UNIFIED_MEMORY", "1", ""}};

constexpr Preset kTable[] = {
    {"PyTorch", "2.0 and newer", Preset::Form::kList, kTorchAsync, kTorchConflicts,
     "pytorch/pytorch c10/cuda/CUDAMallocAsyncAllocator.cpp, #183387"},
    {"JAX", "jaxlib 0.4 and newer", Preset::Form::kWords, kJax, kJaxConflicts, "jax-ml/jax jaxlib/xla_client.py"},
    {"TensorFlow", "2.7 and newer", Preset::Form::kWords, kTensorFlow, kTensorFlowConflicts,
     "tensorflow/tensorflow#46551, #52670"},
};

constexpr Preset kNativeTorch = {"PyTorch",    "1.11 and newer", Preset::Form::kList,
                                 kTorchNative, kNativeConflicts, "pytorch/pytorch c10/cuda/CUDAAllocatorConfig.cpp"};

using In = TorchNeed::In;
constexpr const char* kTrees = "CUDA graph trees";
constexpr const char* kMemPool = "torch.cuda.MemPool";
constexpr TorchNeed kTorchNeeds[] = {
    {In::kArgument, "reduce-overhead", kTrees, "pytorch/pytorch#158641"},
    {In::kArgument, "max-autotune", kTrees, "pytorch/pytorch#158641"},
    {In::kScript, "reduce-overhead", kTrees, "pytorch/pytorch#158641"},
    {In::kScript, "\"max-autotune\"", kTrees, "pytorch/pytorch#158641"},
    {In::kScript, "'max-autotune'", kTrees, "pytorch/pytorch#158641"},
    {In::kVariable, "TORCHINDUCTOR_CUDAGRAPHS=1", kTrees, "pytorch/pytorch torch/_inductor/config.py"},
    {In::kArgument, "--enable-sleep-mode", kMemPool, "vllm-project/vllm#40812, pytorch/pytorch#192464"},
    {In::kScript, "enable_sleep_mode=True", kMemPool, "vllm-project/vllm#40812, pytorch/pytorch#192464"},
    {In::kArgument, "--enable-memory-saver", kMemPool, "fzyzcjy/torch_memory_saver, pytorch/pytorch#192464"},
    {In::kScript, "MemPool(", kMemPool, "pytorch/pytorch#192464"},
    {In::kScript, "_record_memory_history(", "memory snapshots", "c10/cuda/CUDAMallocAsyncAllocator.cpp"},
    {In::kVariable, "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK=1", "allocator traces",
     "c10/cuda/CUDAMallocAsyncAllocator.cpp"},
};

}  // namespace

std::span<const Preset> preset_table() { return kTable; }

const Preset& native_torch_preset() { return kNativeTorch; }

std::span<const TorchNeed> torch_needs() { return kTorchNeeds; }
