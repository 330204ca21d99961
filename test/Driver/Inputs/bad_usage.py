"""Every wrong or unbuilt planning flag: exit 2, one line `error: <flag>: <what>; <what to do>`, no output file."""

import os
import subprocess
import sys
import tempfile

CASES = {
    "--memory-budget=lots": "--memory-budget: 'lots' is no size; write bytes",
    "--memory-budget=1G,2G": "--memory-budget: '1G,2G' is for 2 ranks, not 1; give one size, or one per rank",
    "--memory-budget=2G,1G --ranks=2 --pipeline=2": "--memory-budget: stages of a pipeline (--pipeline) have one budget; give",
    "--memory-budget=2G,1G --ranks=2 --shard-states=parameters": "--shard-states: 'parameters' exchanges within each "
    "micro-batch, in an order that ranks of different --memory-budget do not share; use --shard-states=optimizer",
    "--memory-budget=2G,1G --ranks=2 --deterministic": "--deterministic: ranks of different --memory-budget cut their",
    "--target=cuda": "--target: 'cuda' is not supported; use cpu",
    "--gpu-arch=sm_80": "--gpu-arch: is not supported yet; leave it out",
    "--hardware=cray": "--hardware: cray: is no known hardware (host, a100-80g",
    "--hardware=a100-80g": "--hardware: 'a100-80g' is a GPU but --target is cpu; use --hardware=host",
    "--threads=0": "--threads: is less than 1; give a positive number",
    "--threads=two": "command line: for the --threads option: 'two' value invalid",
    "--ranks=0": "--ranks: is less than 1; give a positive number",
    "--ranks=65": "--ranks: 65 ranks are too many; use at most 64: a corpus has so many shards, and a rank reads",
    "--pipeline=2": "--pipeline: 1 ranks cannot share 2 stages; give a number",
    "--shard-states=all": "--shard-states: 'all' is not supported; use auto or none or optimizer or gradients or parameters",
    "--ranks=2 --shard-states=optimizer --deterministic": "--shard-states: the norm of sharded gradients is rounded as the",
    "--batch=0": "--batch: is less than 1",
    "--batch-frames=4000": "--batch-frames: the model's buckets have no frames; give --batch=B",
    "--batch-frames=0": "--batch-frames: is less than 1",
    "--batch-frames=9 --batch=4": "--batch-frames: --batch says it in utterances; give one of them",
    "--lr-scale=cubic": "--lr-scale: 'cubic' is not supported; use none or linear or sqrt",
    "--lr-base-batch=4": "--lr-base-batch: says nothing without a rule; add --lr-scale=linear",
    "--lr-scale=sqrt --lr-base-batch=0": "--lr-base-batch: is less than 1; give a positive number",
    "--micro-batch=half": "--micro-batch: 'half' is no positive number; give auto",
    "--precision=int8": "--precision: 'int8' is not supported; use auto or fp64 or fp32 or bf16 or fp16",
    "--half-storage=int8": "--half-storage: 'int8' is not supported; use none or auto or bf16 or fp16",
    "--half-storage=auto --precision=fp64": "--half-storage: 'auto' is for programs that compute in fp32, not in fp64;",
    "--half-storage=bf16 --precision=bf16": "--half-storage: 'bf16' is for programs that compute in fp32, not in bf16; "
    "leave it out, or use --precision=fp32",
    "--remat=some": "--remat: 'some' is not supported; use auto or none or full",
    "--bucket=text": "--bucket: 'text' is no bucket; write name=size pairs",
    "--bucket=text=16 --bucket=text=8": "buckets: bucket 1 is shorter in text than the one before; give them in",
    "--bucket=text=16 --bucket=text=16": "buckets: bucket 1 repeats another; leave it out",
    "--bucket=text=16 --bucket=frames=16": "buckets: bucket 1 names other dimensions than the one before; name",
    "--optimizer=lion": "--optimizer: 'lion' is not supported; use adamw or sgd",
    "--grad-clip=-1": "--grad-clip: is negative; give a positive norm, or 0 to clip nothing",
    "--optimizer-in-backward=yes": "--optimizer-in-backward: 'yes' is not supported; use none or auto or on",
    "--optimizer-in-backward=on": "--optimizer-in-backward: gradients are clipped by their global norm, which is",
    "--ema=1.5": "--ema: is not between 0 and 1; give a decay",
    "--freeze=decoder.*": "--freeze: no parameter is named like 'decoder.*'; see tts.param",
    "--deterministic --ranks=3": "--deterministic: 3 ranks cannot share its four groups of shards; give --ranks=1, 2 or 4",
    "--stop-after=plan": "--stop-after: is a flag of tts-opt; use tts-opt",
}

tool, model = sys.argv[1:]
faults = []
with tempfile.TemporaryDirectory() as folder:
    for flags, expected in CASES.items():
        command = [tool, model, "-o", os.path.join(folder, "train"), *flags.split()]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 2 or done.stderr.count("\n") != 1 or not done.stderr.startswith("error: " + expected):
            faults.append(f"{flags}: exit {done.returncode}: {done.stderr!r}, expected 2: {expected!r}")
        if os.listdir(folder):
            faults.append(f"{flags}: left {os.listdir(folder)}")
sys.exit("\n".join(faults) or 0)
