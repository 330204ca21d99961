"""PyTorch's side: a step that keeps less for backward, and the bytes that it holds.

The job's `recompute` is "none", "blocks" (torch.utils.checkpoint around each transformer block) or a number, the
`activation_memory_budget` that torch.compile partitions with.
"""

import sys
from functools import partial
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

import torch_worker
from worker import serve


class Saved:
    """Bytes of what autograd saves, each storage once, without those that were there before."""

    def __init__(self, there):
        self.own = {self.storage(t).data_ptr() for t in there}
        self.held, self.kept = {}, []

    @staticmethod
    def storage(tensor):
        return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()

    def pack(self, tensor):
        storage = self.storage(tensor)
        if storage.data_ptr() not in self.own:
            self.held[storage.data_ptr()] = storage.nbytes()
            self.kept.append(tensor)  # so that no address is used twice
        return tensor

    def bytes(self):
        return sum(self.held.values())


def peak_of(events):
    """The most bytes allocated at once since the first event."""
    live = most = 0
    for _, bytes in sorted(events, key=lambda event: event[0]):
        live += bytes
        most = max(most, live)
    return most


def memory_events(profiled):
    """(time, bytes) of each allocation on the processor, and of each release with a minus."""
    events = profiled.profiler.kineto_results.events()
    time = "start_ns" if hasattr(next(iter(events)), "start_ns") else "start_us"
    return [(getattr(e, time)(), e.nbytes()) for e in events if e.name() == "[memory]"]


class Side(torch_worker.Side):
    def __init__(self, job):
        super().__init__(job)
        if job.recompute == "blocks":
            for block in (*self.model.encoder, *self.model.decoder):
                # With re-entry, so that what is saved is told to hooks in both versions.
                block.forward = partial(checkpoint, block.forward, use_reentrant=True)
        elif job.recompute != "none":
            import torch._functorch.config

            torch._functorch.config.activation_memory_budget = float(job.recompute)

    def held(self):
        """What forward saves, and the most that forward and backward have live; parameters' gradients are there before."""
        saved = Saved([*self.model.parameters(), *self.model.buffers(), *self.batch.values()])
        with torch.autograd.graph.saved_tensors_hooks(saved.pack, lambda tensor: tensor):
            loss = self.forward(self.loss)
        bytes = saved.bytes()
        loss.backward()
        del saved, loss
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
            self.forward(self.loss).backward()
        self.optimizer.zero_grad(set_to_none=True)
        return {"saved": bytes, "peak": peak_of(memory_events(profiled))}


if __name__ == "__main__":
    serve(Side)
