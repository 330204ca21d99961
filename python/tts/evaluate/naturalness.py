"""The opinion that a network trained on listeners' ratings predicts of a sound: distillmos, whose weights ship with it."""

import contextlib
import functools
import io

import numpy as np

RATE = 16000


@functools.cache
def _model():
    import torch

    torch.set_num_threads(1)
    from distillmos import ConvTransformerSQAModel

    with contextlib.redirect_stdout(io.StringIO()):  # it says where its weights lie
        return ConvTransformerSQAModel().eval()


def opinion(wave: np.ndarray) -> float:
    """The predicted mean opinion score, 1 to 5, of a waveform at 16 kHz."""
    model = _model()
    import torch

    with torch.no_grad():
        return float(model(torch.from_numpy(np.asarray(wave, np.float32))[None]))
