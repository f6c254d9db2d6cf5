"""Copies saved tensors to pinned memory and back on separate streams: a careful user's hand-written offload."""

import torch

LEAST_BYTES = 1 << 20  # smaller tensors are not worth a copy


class OwnStreams(torch.autograd.graph.saved_tensors_hooks):
    """Copies out after the work that produces a tensor; copies in before the work that needs it.

    The device's copy is released when the copy out is done; `record_stream` informs the caching allocator. Each copy
    in is issued when the tensor is needed: no learning, no plan.
    """

    def __init__(self):
        self.streams = (torch.cuda.Stream(), torch.cuda.Stream()) if torch.cuda.is_available() else None
        super().__init__(self._pack, self._unpack)

    def _pack(self, tensor):
        worth = tensor.is_cuda and tensor.nbytes >= LEAST_BYTES and not isinstance(
            tensor, torch.nn.Parameter)
        if not worth or self.streams is None:
            return tensor
        out = self.streams[0]
        out.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(out):
            host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            host.copy_(tensor, non_blocking=True)
            tensor.record_stream(out)
        return host, tensor.device

    def _unpack(self, saved):
        if isinstance(saved, torch.Tensor):
            return saved
        host, device = saved
        back = self.streams[1]
        back.wait_stream(self.streams[0])
        with torch.cuda.stream(back):
            tensor = host.to(device, non_blocking=True)
        torch.cuda.current_stream().wait_stream(back)
        tensor.record_stream(torch.cuda.current_stream())
        return tensor
