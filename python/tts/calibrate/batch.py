"""A micro-batch to measure with: drawn at random, nothing padded."""

from __future__ import annotations

import numpy as np


def full_batch(bucket: dict, draw: np.random.Generator) -> dict[str, np.ndarray]:
    """Inputs of a bucket of the manifest: every utterance as long as the bucket."""
    dims, micro_batch = bucket["dims"], bucket["micro_batch"]
    inputs = {}
    for tensor in bucket["inputs"]:
        name, shape = tensor["name"], tuple(tensor["shape"])
        if name == "utterance":
            value = np.arange(micro_batch)
        elif "lengths" in tensor:
            value = np.full(shape, dims[tensor["lengths"]])
        elif name == "durations":  # add up to the frames
            value = np.full(shape, dims["frames"] // dims["text"])
            value[:, -1] += dims["frames"] % dims["text"]
        elif tensor["dtype"].startswith("I"):
            value = draw.integers(1, 20, shape)
        else:
            value = draw.standard_normal(shape)
        inputs[name] = value
    return inputs
