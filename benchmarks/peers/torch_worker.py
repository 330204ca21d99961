"""PyTorch's side: Debian's 1.13 or the newest, eager or compiled, as the job says."""

import os
import subprocess
import sys

import numpy as np
import torch
from safetensors import safe_open

from torch_model import FastSpeech2, Linear, in_own_layout
from worker import serve


def math_libraries():
    """The BLAS and OpenMP libraries that this process has mapped, by file name."""
    with open("/proc/self/maps") as maps:
        files = {os.path.realpath(line.split()[-1]) for line in maps if ".so" in line}
    names = (os.path.basename(f) for f in files if "cublas" not in f and "numpy" not in f)
    return sorted(n for n in names if any(word in n.lower() for word in ("blas", "mkl", "dnnl", "gomp", "iomp")))


def onednn():
    """Version and instruction set of this PyTorch's oneDNN, as it tells them itself at its first convolution."""
    small = "import torch; torch.conv1d(torch.ones(2, 16, 64), torch.ones(16, 16, 3))"
    verbose = {**os.environ, "ONEDNN_VERBOSE": "1", "DNNL_VERBOSE": "1"}
    done = subprocess.run([sys.executable, "-c", small], capture_output=True, text=True, env=verbose)
    told = [line for line in done.stdout.splitlines() if "info," in line]
    return [line.split("info,")[1] for line in told if "oneDNN v" in line or "isa:" in line]


class Side:
    def __init__(self, job):
        self.job = job
        torch.set_num_threads(job.threads)
        torch.manual_seed(1)
        Linear.as_convolution = job.variant == "conv"
        with np.load(job.batch) as arrays:
            self.batch = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
        for name in ("phones", "durations", "phone_lengths", "mel_lengths"):
            self.batch[name] = self.batch[name].long()
        self.model = FastSpeech2(job.config, self.batch["phones"].shape[1], self.batch["mel"].shape[1])
        with safe_open(job.weights, "pt") as file:
            weights = {name: in_own_layout(name, file.get_tensor(name)) for name in file.keys()}
        self.model.load_state_dict(weights)
        del weights
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        fast = {"foreach": True} if torch.__version__.startswith("1.") else {"fused": True}
        settings = {"lr": job.lr, "betas": (0.9, 0.98), "eps": 1e-9, "weight_decay": job.weight_decay}
        self.optimizer, self.fast = torch.optim.AdamW(self.trained, **settings, **fast), next(iter(fast))
        self.loss = torch.compile(self.model) if job.compiled else self.model

    def about(self):
        lines = [line.strip(" -") for line in torch.__config__.show().splitlines()]
        wanted = ("Intel(R) ", "CPU capability")
        built = [line for line in lines if line.startswith(wanted)]
        how = "torch.compile" if self.job.compiled else "eager"
        return {
            "version": f"PyTorch {torch.__version__}",
            "threads": torch.get_num_threads(),
            "implementation": f"{how}, {self.job.precision}, linear by {self.job.variant}, AdamW {self.fast}",
            "libraries": [*built, *onednn(), *math_libraries()],
        }

    def forward(self, model):
        """As the job's precision says: autocast holds weights, norms and losses in fp32."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.job.precision == "bf16"):
            return model(self.batch)

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            loss = float(self.forward(self.model))
        self.model.train()
        return loss

    def step(self, update):
        loss = self.forward(self.loss)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained, 1.0)
        self.optimizer.step()
        return float(loss.detach())


if __name__ == "__main__":
    serve(Side)
