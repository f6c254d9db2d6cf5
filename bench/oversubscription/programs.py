"""The four programs: how each is started, and which part of it is measured.

All are C programs for the plain driver API under tests/programs/; none uses Tessera.
"""

from dataclasses import dataclass

KERNELS = "train_kernels.so"


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    program: str               # in lib/tessera/ of a build
    words: tuple[str, ...]     # its sizes, without the number of steps
    smoke_words: tuple[str, ...]
    steps: int                 # recorded steps
    passes: int                # how often the steps are replayed; 1 for programs without a period
    step: str                  # name of one step

    def command(self, folder, smoke):
        words = self.smoke_words if smoke else self.words
        return [str(folder / self.program), "--kernels", str(folder / KERNELS),
                "--steps", str(self.recorded_steps(smoke)), *words]

    def recorded_steps(self, smoke):
        return min(self.steps, 40) if smoke else self.steps


# With these batches and widths the arithmetic of a V100 and a link of 12 GB/s are roughly in balance.
WORKLOADS = (
    Workload("train", "training with Adam", "train",
             ("--layers", "10", "--width", "1024", "--batch", "1024"),
             ("--layers", "6", "--width", "1024", "--batch", "32"),
             steps=2, passes=8, step="training step"),
    Workload("infer", "inference over layers", "infer",
             ("--layers", "32", "--width", "1024", "--batch", "1024"),
             ("--layers", "8", "--width", "1024", "--batch", "32"),
             steps=2, passes=8, step="batch"),
    Workload("graph_walk", "a walk over a graph", "graph_walk",
             ("--partitions", "64", "--rows", "2048", "--width", "512"),
             ("--partitions", "32", "--rows", "1024", "--width", "512"),
             steps=240, passes=1, step="step of the walk"),
    Workload("pipeline", "two streams, pipelined", "pipeline",
             ("--chunks", "48", "--rows", "2048", "--width", "512"),
             ("--chunks", "16", "--rows", "1024", "--width", "512"),
             steps=2, passes=8, step="pass over the data"),
)
