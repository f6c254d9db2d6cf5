"""Heat that spreads through plates, with NVIDIA's cuda.core and kernels as text. It knows nothing of Tessera.

Usage: cuda_core_plates.py PLATES

A step makes each plate's next state from its own and its neighbour's. Steps are made by launches on two streams, with states
that are allocated and freed in stream order, by a graph, and by a graph that repeats until the heat hardly moves. Prints
one line for each way: its name, the warmest number, and a digest of all of them.
"""

import hashlib
import sys

import numpy as np
from cuda.core import (Device, EventOptions, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions,
                       launch)

ROWS, COLUMNS, THREADS = 512, 1024, 256
BYTES = ROWS * COLUMNS * 4
HEAT = r"""
template <typename T>
__device__ T at(const T* plate, int row, int column) {
  const int r = row < 0 ? 0 : row >= %(rows)d ? %(rows)d - 1 : row;
  const int c = column < 0 ? 0 : column >= %(columns)d ? %(columns)d - 1 : column;
  return plate[r * %(columns)d + c];
}

template <typename T>
__global__ void warm(T* plate, T most) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  plate[i] = most * static_cast<T>(i %% 97) / static_cast<T>(97);
}

template <typename T>
__global__ void step(T* next, const T* now, const T* neighbour, T share) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / %(columns)d, column = i %% %(columns)d;
  const T around = at(now, row - 1, column) + at(now, row + 1, column) + at(now, row, column - 1) +
                   at(now, row, column + 1);
  next[i] = (1 - share) * around / 4 + share * neighbour[i];
}
"""
DECISION = r"""
// The warmest of each block of threads.
extern "C" __global__ void warmest(float* found, const float* plate) {
  __shared__ float seen[%(threads)d];
  seen[threadIdx.x] = plate[blockIdx.x * blockDim.x + threadIdx.x];
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half && seen[threadIdx.x + half] > seen[threadIdx.x]) seen[threadIdx.x] = seen[threadIdx.x + half];
  }
  if (threadIdx.x == 0) found[blockIdx.x] = seen[0];
}

// Whether a graph goes round once more.
extern "C" __global__ void decide(cudaGraphConditionalHandle again, const float* found, int count, float enough) {
  float most = 0;
  for (int i = 0; i < count; ++i) most = found[i] > most ? found[i] : most;
  cudaGraphSetConditional(again, most > enough);
}
"""
SIZES = {"rows": ROWS, "columns": COLUMNS, "threads": THREADS}


class Kernels:
    def __init__(self, device):
        self.options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
        self.warm, self.step = self.compiled(HEAT, ("warm<float>", "step<float>"), ())
        self.warmest, self.decide = self.compiled(DECISION, (), ("warmest", "decide"))

    def compiled(self, source, templates, names):
        program = Program(source % SIZES, code_type="c++", options=self.options)
        module = program.compile("cubin", name_expressions=templates)
        return map(module.get_kernel, (*templates, *names))


class Plates:
    WHOLE = LaunchConfig(grid=ROWS * COLUMNS // THREADS, block=THREADS)
    ALONE = LaunchConfig(grid=1, block=1)

    def __init__(self, device, count):
        self.device, self.kernels, self.share = device, Kernels(device), np.float32(0.25)
        self.streams = [device.create_stream() for _ in range(2)]
        self.found = device.allocate(ROWS * COLUMNS // THREADS * 4, stream=self.streams[0])
        self.pinned = LegacyPinnedMemoryResource().allocate(BYTES)
        self.now = [device.allocate(BYTES, stream=self.streams[0]) for _ in range(count)]
        self.next = [device.allocate(BYTES, stream=self.streams[0]) for _ in range(count)]
        for i, plate in enumerate(self.now):
            launch(self.streams[0], self.WHOLE, self.kernels.warm, plate, np.float32(i + 1))
        self.streams[0].sync()

    def step(self, stream, i, into):
        launch(stream, self.WHOLE, self.kernels.step, into, self.now[i], self.now[i - 1], self.share)

    def by_launches(self, rounds):
        """The streams take turns and wait for each other's last plate."""
        done = self.device.create_event(EventOptions())
        for _ in range(rounds):
            for i, into in enumerate(self.next):
                stream = self.streams[i % 2]
                self.step(stream, i, into)
            for stream, other in (self.streams, reversed(self.streams)):
                stream.record(done)
                other.wait(done)
            self.now, self.next = self.next, self.now

    def by_new_states(self, rounds):
        """No state is kept: each is allocated before a step, and freed behind the last one that reads it."""
        stream = self.streams[0]
        stream.wait(self.streams[1])
        for plate in self.next:
            plate.close(stream)
        for _ in range(rounds):
            states = []
            for i in range(len(self.now)):
                states.append(self.device.allocate(BYTES, stream=stream))
                self.step(stream, i, states[i])
            for plate in self.now:
                plate.close(stream)
            self.now = states
        self.next = [self.device.allocate(BYTES, stream=stream) for _ in self.now]

    def by_a_graph(self, rounds):
        """One graph is a step and back: the plates in two branches, joined, then copied."""
        builder = self.device.create_graph_builder().begin_building()
        one, two = builder.split(2)
        for i, into in enumerate(self.next):
            self.step((one, two)[i % 2], i, into)
        joined = one.join(one, two)
        for plate, into in zip(self.now, self.next):
            plate.copy_from(into, stream=joined)
        graph = joined.end_building().complete()
        for _ in range(rounds):
            graph.launch(self.streams[0])
        self.streams[0].sync()
        graph.close()

    def until_it_is_cold(self):
        """The graph decides when the first plate, of which each round loses a part to an empty one, is cold enough."""
        plate, empty = self.now[0], self.next[0]
        empty.fill(0, stream=self.streams[0])
        builder = self.device.create_graph_builder().begin_building()
        again = builder.create_condition(default_value=1)
        body = builder.while_loop(again).begin_building()
        launch(body, self.WHOLE, self.kernels.step, self.next[1], plate, empty, self.share)
        plate.copy_from(self.next[1], stream=body)
        launch(body, self.WHOLE, self.kernels.warmest, self.found, plate)
        launch(body, self.ALONE, self.kernels.decide, again, self.found, np.int32(self.WHOLE.grid[0]), np.float32(0.1))
        body.end_building()
        graph = builder.end_building().complete()
        graph.launch(self.streams[0])
        self.streams[0].sync()
        graph.close()

    def tell(self, way):
        seen, warmest = hashlib.sha256(), 0.0
        self.streams[1].sync()
        for plate in self.now:
            plate.copy_to(self.pinned, stream=self.streams[0])
            self.streams[0].sync()
            numbers = np.from_dlpack(self.pinned).view(np.float32)
            seen.update(numbers.tobytes())
            warmest = max(warmest, float(numbers.max()))
        print(f"{way:9} {warmest:.6f} {seen.hexdigest()[:16]}")


def main(count):
    device = Device()
    device.set_current()
    plates = Plates(device, count)
    plates.by_launches(4)
    plates.tell("launches")
    plates.by_new_states(4)
    plates.tell("states")
    plates.by_a_graph(4)
    plates.tell("graph")
    plates.until_it_is_cold()
    plates.tell("until")


if __name__ == "__main__":
    main(int(sys.argv[1]))
