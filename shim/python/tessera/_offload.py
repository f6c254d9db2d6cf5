"""Decides when saved activations are evicted, and which are fetched before backward needs them.

A tensor that was just saved is mostly the next operator's input, so it is evicted only after some more were saved.
Eviction waits for the work on the tensor and for the copy, so a separate thread requests it. Only addresses are
kept: the memory may be freed at any time, which makes the hint void.
"""

import contextlib
import queue
import threading
from collections import deque
from typing import Any, Callable, Deque, List, Optional

from ._api import Busy, NotFound, TesseraError
from ._tensors import address_of, on_device

Hint = Callable[[List[int]], None]


class ActivationOffload:
    """The two hooks. Only one thread packs at a time, as in autograd."""

    def __init__(self, evict: Hint, prefetch: Hint, least_bytes: int, lag: int, ahead: int) -> None:
        self._evict, self._prefetch = evict, prefetch
        self._least_bytes, self._lag, self._ahead = least_bytes, lag, ahead
        self._lock = threading.Lock()
        self._recent: Deque[int] = deque()
        self._saved: List[int] = []
        self._leaving: "queue.Queue[Optional[int]]" = queue.Queue(maxsize=1024)
        self._failure: Optional[TesseraError] = None
        self._worker = threading.Thread(target=self._work, name="tessera-offload", daemon=True)
        self._worker.start()

    def _wanted(self, tensor: Any) -> bool:
        if not on_device(tensor) or tensor.numel() * tensor.element_size() < self._least_bytes:
            return False
        base = getattr(tensor, "_base", None)  # a layer saves its weight as a transposed view
        origin = tensor if base is None else base
        return not (origin.is_leaf and origin.requires_grad)  # a parameter is not an activation

    def pack(self, tensor: Any) -> Any:
        """Autograd saves the tensor: it may be evicted soon. The tensor itself is what is saved."""
        if self._wanted(tensor):
            address = address_of(tensor)
            with self._lock:
                self._saved.append(address)
                self._recent.append(address)
                oldest = self._recent.popleft() if len(self._recent) > self._lag else None
            if oldest is not None:
                self._leave(oldest)
        return tensor

    def unpack(self, tensor: Any) -> Any:
        """Backward needs it now, and most likely the previously saved tensors next."""
        if self._wanted(tensor):
            address = address_of(tensor)
            with self._lock:
                self._recent.clear()  # the rest of forward is needed again at once
                while self._saved and self._saved.pop() != address:
                    pass
                soon = self._saved[-self._ahead:] if self._ahead else []
            self._hint(self._prefetch, [address] + soon[::-1])
        return tensor

    def _leave(self, address: int) -> None:
        try:
            self._leaving.put_nowait(address)
        except queue.Full:
            pass  # the link is behind: keep this one resident

    def _work(self) -> None:
        while True:
            address = self._leaving.get()
            if address is None:
                return
            self._hint(self._evict, [address])

    def _hint(self, hint: Hint, addresses: List[int]) -> None:
        for address in addresses:
            try:
                hint([address])
            except (NotFound, Busy):
                pass  # freed meanwhile, or in use again
            except TesseraError as error:
                self._failure = error

    def close(self) -> Optional[TesseraError]:
        """Ends the thread; returns the last failure of a hint, if any.

        Forward is over: tensors that were not evicted by now would only have to be fetched again.
        """
        with contextlib.suppress(queue.Empty):
            while True:
                self._leaving.get_nowait()
        self._leaving.put(None)
        self._worker.join()
        return self._failure
