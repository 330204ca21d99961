"""The lit suite: where its tests are, the tools that RUN lines name, and what this machine can run."""

import glob
import os
import shutil
import subprocess

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "tts"
config.test_format = lit.formats.ShTest(execute_external=not llvm_config.use_lit_shell)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tts_build_dir, "test", "lit")
# Run by ctest and pytest; Inputs hold files that tests read.
config.excludes = ["Unit", "Python", "Meta", "Inputs", "CMakeLists.txt"]

try:
    import psutil  # noqa: F401  lit needs it to end a test that hangs

    lit_config.maxIndividualTestTime = 300
except ImportError:
    pass

llvm_config.with_environment("PATH", [config.tts_tools_dir, config.llvm_tools_dir], append_path=True)
llvm_config.with_environment("PYTHONPATH", os.path.join(config.tts_source_dir, "python"), append_path=True)
llvm_config.with_system_environment(["HOME", "TMPDIR", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"])
# Two threads and no more, whatever the machine: other tests run beside this one.
llvm_config.with_environment("OMP_NUM_THREADS", "2")
llvm_config.with_environment("OPENBLAS_NUM_THREADS", "1")
config.environment["FILECHECK_OPTS"] = "-enable-var-scope --allow-unused-prefixes=false"

config.substitutions.append(("%python", config.tts_python))
config.substitutions.append(("%plugin", config.tts_plugin))
config.substitutions.append(("%source", config.tts_source_dir))
config.substitutions.append(
    (
        "%mlir-opt-tts",
        f"mlir-opt --load-dialect-plugin={config.tts_plugin} --load-pass-plugin={config.tts_plugin}",
    )
)

llvm_config.add_tool_substitutions(
    [ToolSubst(name, unresolved="ignore") for name in ("tts-opt", "tts-compile", "tts-check")],
    [config.tts_tools_dir],
)
llvm_config.add_tool_substitutions(["FileCheck", "not", "count", "mlir-opt", "llvm-readelf"], [config.llvm_tools_dir])


def imports(module):
    """Whether the tests' Python can import a module."""
    return subprocess.run([config.tts_python, "-c", f"import {module}"], capture_output=True).returncode == 0


for program in ("tts-opt", "tts-compile", "tts-check"):
    if os.path.exists(os.path.join(config.tts_tools_dir, program)):
        config.available_features.add(program)
if os.path.exists(config.tts_plugin):
    config.available_features.add("plugin")
for module in ("numpy", "torch", "librosa"):
    if imports(module):
        config.available_features.add(module)
# The toolkit's, a package's, or the wheels of python/requirements-cuda.txt.
wheels = os.path.join(os.path.dirname(os.path.dirname(config.tts_python)), "lib", "python3*", "site-packages", "nvidia")
places = ["", "/usr/local/cuda/bin/", *glob.glob(os.path.join(wheels, "cuda_nvcc", "bin", ""))]
ptxas = next(filter(None, (shutil.which(place + "ptxas") for place in places)), None)
if ptxas:
    config.available_features.add("cuda-toolkit")
    llvm_config.with_environment("PATH", os.path.dirname(ptxas), append_path=True)
    # Where MLIR looks for libdevice.
    llvm_config.with_environment("CUDA_ROOT", os.path.dirname(os.path.dirname(ptxas)))
nccl = [os.environ.get("TTS_NCCL", ""), "/usr/lib/x86_64-linux-gnu/libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"]
nccl += glob.glob(os.path.join(wheels, "nccl", "lib", "libnccl.so.2"))
for library in filter(os.path.exists, nccl):
    config.available_features.add("nccl")
    config.substitutions.append(("%nccl", library))
    break
with open("/proc/cpuinfo") as info:
    flags = set(next((line.split() for line in info if line.startswith("flags")), []))
for feature, flag in (("avx2", "avx2"), ("avx512", "avx512f"), ("amx", "amx_bf16")):
    if flag in flags:
        config.available_features.add(feature)
