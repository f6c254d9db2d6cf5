"""Tensors of any kind as addresses: a number, or anything with data_ptr().

No framework is imported here; any object with the right attributes is a tensor.
"""

from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence, Tuple


def address_of(tensor: Any) -> int:
    """The beginning of the tensor's memory; 0 for an empty tensor."""
    if isinstance(tensor, int):
        return tensor
    storage = getattr(tensor, "untyped_storage", None)
    return int(storage().data_ptr() if storage is not None else tensor.data_ptr())


def addresses_of(tensors: Iterable[Any]) -> List[int]:
    """The addresses of all non-empty tensors, each once, in order."""
    return [address for address in dict.fromkeys(map(address_of, tensors)) if address]


def on_device(value: Any) -> bool:
    """Whether the value is a tensor in device memory."""
    return bool(getattr(value, "is_cuda", False)) and hasattr(value, "data_ptr")


def tensors_in(value: Any, wanted: Optional[Callable[[Any], bool]] = None) -> Iterator[Any]:
    """Every tensor in device memory (or every wanted one) inside lists, tuples and dictionaries."""
    if (wanted or on_device)(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item, wanted)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item, wanted)


def by_schema(function: Any, args: Sequence[Any], kwargs: Any,
              find: Callable[[Any], Iterable[Any]] = tensors_in) -> Tuple[List[Any], List[Any]]:
    """The tensors that an operator writes, and its other tensors; without a schema all count as written."""
    schema = getattr(function, "_schema", None)
    if schema is None:
        return list(find((args, kwargs))), []
    written: List[Any] = []
    read: List[Any] = []
    for place, argument in enumerate(schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(argument.name)
        alias = getattr(argument, "alias_info", None)
        (written if alias is not None and alias.is_write else read).extend(find(value))
    return written, read


def operands(function: Any, args: Tuple[Any, ...], kwargs: Any) -> Tuple[List[int], int]:
    """The addresses that an operator uses, written ones first, and the number of written ones."""
    written, read = by_schema(function, args, kwargs)
    first = addresses_of(written)
    return first + [a for a in addresses_of(read) if a not in first], len(first)
