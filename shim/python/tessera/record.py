"""Records a trace of any PyTorch program, operator by operator, without a GPU and optionally without data.

    with FakeTensorMode(), tessera.record.trace("model.jsonl.zst", gpu="A100-80G") as trace:
        model, optimizer = ...
        step()                  # creates the optimizer's states; not part of an iteration
        for _ in range(2):
            trace.iteration()
            step()

Under PyTorch's FakeTensorMode tensors have sizes but no data, so that a model of any size takes seconds; tensors
in host memory work as well. Operators, operands and lifetimes are the program's own. Times are roofline estimates
for a named GPU. docs/traces.md describes the differences from a run on a GPU.
"""

import contextlib
import os
import pathlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from . import _tensors
from ._recording import Recording
from .roofline import GPUS, Gpu

# Operators that write every byte of their operand and read none.
_OVERWRITES = {"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_"}
# Operators that read as many bytes of their first operand, a table, as they write.
_LOOKUPS = {"embedding", "gather", "index", "index_select"}
# Operators that process a list of tensors one by one.
_ON_LISTS = ("_foreach_", "_fused_")
# Operators that allocate and write nothing.
_PLACES = ("empty", "new_empty")
# Tensor queries, profiler marks, and constants that become tensors.
_NO_OPERATORS = ("prim::", "profiler::", "aten::lift_fresh")


def _name_of(function: Any) -> str:
    """The name with its library, as in aten::add."""
    schema = getattr(function, "_schema", None)
    return str(schema.name if schema is not None else function)


def _tensors_in(value: Any) -> List[Any]:
    import torch
    return list(_tensors.tensors_in(value, lambda each: isinstance(each, torch.Tensor)))


def _bytes_of(tensor: Any) -> int:
    """Bytes touched by a pass over the tensor: an expanded one has fewer bytes than elements."""
    return min(int(tensor.numel() * tensor.element_size()), int(tensor.untyped_storage().nbytes()))


def _one_by_one(name: str, args: Any, kwargs: Any, out: Any) -> Iterator[Tuple[Any, Any, Any]]:
    """The operands of each kernel: for an operator on lists, one set per index in the lists."""
    lists = [value for value in (*args, *kwargs.values(), out)
             if isinstance(value, (list, tuple)) and len(value) > 0]
    if not name.startswith(_ON_LISTS) or not lists:
        yield args, kwargs, out
        return
    length = len(lists[0])

    def pick(value: Any, place: int) -> Any:
        return value[place] if isinstance(value, (list, tuple)) and len(value) == length else value

    for place in range(length):
        yield ([pick(value, place) for value in args],
               {key: pick(value, place) for key, value in kwargs.items()}, pick(out, place))


class Trace:
    """The operations of a program, as dispatched by PyTorch. Made by trace()."""

    def __init__(self, recording: Recording, gpu: Gpu) -> None:
        from torch.utils import flop_counter
        self._recording, self._gpu = recording, gpu
        self._flops: Dict[Any, Callable[..., float]] = flop_counter.flop_registry
        self._iterations = 0
        self._in_update = False

    def iteration(self) -> None:
        """Marks the beginning of the next iteration."""
        self._iterations += 1
        self._recording.mark("iteration", self._iterations)

    def _operator(self, function: Any, args: Any, kwargs: Any, out: Any) -> None:
        full_name, start = _name_of(function), 0
        if full_name.startswith(_NO_OPERATORS):
            return
        name = full_name.split("::")[-1]
        for part_args, part_kwargs, part_out in _one_by_one(name, args, kwargs, out):
            flops = self._flops.get(getattr(function, "_overloadpacket", function))
            arithmetic = float(flops(*part_args, **part_kwargs, out_val=part_out)) if flops else 0.0
            start += self._piece(name, function, part_args, part_kwargs, part_out, arithmetic, start)

    def _piece(self, name: str, function: Any, args: Any, kwargs: Any, out: Any, flops: float, place: int) -> int:
        """Records one kernel. Returns 1 if it did work, else 0."""
        written, read = _tensors.by_schema(function, args, kwargs, _tensors_in)
        for tensor in (*written, *read):
            self._recording.from_outside(tensor.untyped_storage(), "weight" if _is_parameter(tensor) else "input")
        results = _tensors_in(out)
        made = [tensor for tensor in results if not self._recording.knows(tensor.untyped_storage())]
        for tensor in made:
            if not self._recording.knows(tensor.untyped_storage()):
                self._recording.allocate(tensor.untyped_storage(), self._tag_of_new(bool(read)))
        if name.startswith(_PLACES) or not (made or written or (read and not results)):
            return 0    # a view, or only an allocation
        changed = [tensor for tensor in written if name not in _OVERWRITES or not _is_whole(tensor)]
        reads, writes = [*read, *changed], [*written, *made]
        self._recording.op(name, self._nanoseconds(name, flops, reads, writes, place == 0),
                           [tensor.untyped_storage() for tensor in reads],
                           [tensor.untyped_storage() for tensor in writes])
        return 1

    def _nanoseconds(self, name: str, flops: float, reads: List[Any], writes: List[Any], starts: bool) -> int:
        moved = [*map(_bytes_of, reads)]
        result = sum(map(_bytes_of, writes))
        if name in _LOOKUPS and moved:
            moved[0] = min(moved[0], result)
        element = max((tensor.element_size() for tensor in reads if tensor.is_floating_point()), default=4)
        nanoseconds = self._gpu.nanoseconds(flops, sum(moved) + result, element)
        return nanoseconds if starts else nanoseconds - self._gpu.nanoseconds(0, 0, element)

    def _tag_of_new(self, has_operands: bool) -> Optional[str]:
        import torch
        if self._in_update:
            return None
        if torch._C._current_graph_task_id() != -1 and not torch.is_grad_enabled():
            return "gradient"
        return "activation" if has_operands else "input"

    def _set_tag(self, tensor: Any, tag: str) -> None:
        self._recording.from_outside(tensor.untyped_storage(), tag)
        self._recording.tag(tensor.untyped_storage(), tag)

    def _before_module(self, module: Any, _: Any) -> None:
        for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            self._set_tag(tensor, "weight")

    def _before_update(self, optimizer: Any, *_: Any) -> None:
        self._in_update = True
        for parameter in (each for group in optimizer.param_groups for each in group["params"]):
            self._set_tag(parameter, "weight")
            if parameter.grad is not None:
                self._set_tag(parameter.grad, "weight-gradient")

    def _after_update(self, optimizer: Any, *_: Any) -> None:
        self._in_update = False
        for tensor in _tensors_in([list(state.values()) for state in optimizer.state.values()]):
            self._set_tag(tensor, "optimizer")


def _is_parameter(tensor: Any) -> bool:
    import torch
    return isinstance(tensor, torch.nn.Parameter)


def _is_whole(tensor: Any) -> bool:
    return bool(tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes())


def _watching(trace_: Trace) -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watching(TorchDispatchMode):  # type: ignore[misc]
        """Sees every operator below autograd, forward and backward."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            trace_._operator(func, args, kwargs or {}, out)
            return out

    return Watching()


def _compressed(text: bytes) -> bytes:
    import zstandard
    return bytes(zstandard.ZstdCompressor(level=19).compress(text))


@contextlib.contextmanager
def trace(file: Union[str, "os.PathLike[str]"], gpu: str = "A100-80G", name: Optional[str] = None) -> Iterator[Trace]:
    """Records all operations of this thread inside, with all tensors on any device, and writes the trace at the end.

    `gpu` is a name in `tessera.roofline.GPUS`. A file name ending in .zst is compressed, by the package `zstandard`.
    Raises ValueError for an unknown GPU, ImportError without PyTorch or `zstandard`, OSError if the file cannot be
    written. A program that ends with an exception leaves no file.
    """
    import torch
    from torch.nn.modules.module import register_module_forward_pre_hook
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
    if gpu not in GPUS:
        raise ValueError(f"unknown GPU: {gpu}; known: {', '.join(GPUS)}")
    path = pathlib.Path(file)
    if path.suffix == ".zst":
        import zstandard  # noqa: F401  (before the work, not after it)
    recording = Recording(name or path.name.split(".")[0], f"PyTorch {torch.__version__}, times of {gpu}", GPUS[gpu])
    recorded = Trace(recording, GPUS[gpu])
    with contextlib.ExitStack() as hooks:
        for handle in (register_module_forward_pre_hook(recorded._before_module),
                       register_optimizer_step_pre_hook(recorded._before_update),
                       register_optimizer_step_post_hook(recorded._after_update)):
            hooks.callback(handle.remove)
        hooks.enter_context(_watching(recorded))
        yield recorded
    text = recording.close()
    path.write_bytes(_compressed(text) if path.suffix == ".zst" else text)
