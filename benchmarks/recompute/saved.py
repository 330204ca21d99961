"""Prints the bytes that PyTorch's autograd saves for the backward pass of the same model and batch, parameters left out.

Usage: saved.py CONFIG.json BATCH.npz
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))

from torch_model import FastSpeech2


def main():
    config = SimpleNamespace(**json.loads(Path(sys.argv[1]).read_text()))
    with np.load(sys.argv[2]) as arrays:
        batch = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    for name in ("phones", "durations", "phone_lengths", "mel_lengths"):
        batch[name] = batch[name].long()
    model = FastSpeech2(config, batch["phones"].shape[1], batch["mel"].shape[1])
    own = {p.storage().data_ptr() for p in (*model.parameters(), *model.buffers())}
    own |= {t.storage().data_ptr() for t in batch.values()}
    held, kept = {}, []

    def pack(tensor):
        storage = tensor.storage()
        if storage.data_ptr() not in own:
            held[storage.data_ptr()] = storage.nbytes()
            kept.append(tensor)  # so that no address is used twice
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        model(batch)
    print(sum(held.values()))


main()
