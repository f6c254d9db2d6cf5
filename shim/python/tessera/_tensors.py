"""Tensors of whatever kind as addresses: a number, or anything with data_ptr().

No framework is imported here; a tensor is what behaves like one.
"""

from typing import Any, Iterable, Iterator, List, Tuple


def address_of(tensor: Any) -> int:
    """Where the tensor's memory begins; 0 for an empty one."""
    if isinstance(tensor, int):
        return tensor
    storage = getattr(tensor, "untyped_storage", None)
    return int(storage().data_ptr() if storage is not None else tensor.data_ptr())


def addresses_of(tensors: Iterable[Any]) -> List[int]:
    """Of all that are not empty, each once, in their order."""
    return [address for address in dict.fromkeys(map(address_of, tensors)) if address]


def on_device(value: Any) -> bool:
    """Whether the value is a tensor in device memory."""
    return bool(getattr(value, "is_cuda", False)) and hasattr(value, "data_ptr")


def tensors_in(value: Any) -> Iterator[Any]:
    """Every tensor in device memory inside lists, tuples and dictionaries."""
    if on_device(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)


def operands(function: Any, args: Tuple[Any, ...], kwargs: Any) -> Tuple[List[int], int]:
    """The addresses an operator uses, written ones first, and how many of them it writes.

    The operator's schema tells which arguments it writes; without one all are taken as written.
    """
    schema = getattr(function, "_schema", None)
    if schema is None:
        everything = addresses_of(tensors_in((args, kwargs)))
        return everything, len(everything)
    written: List[Any] = []
    read: List[Any] = []
    for place, argument in enumerate(schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(argument.name)
        alias = getattr(argument, "alias_info", None)
        (written if alias is not None and alias.is_write else read).extend(tensors_in(value))
    first = addresses_of(written)
    return first + [a for a in addresses_of(read) if a not in first], len(first)
