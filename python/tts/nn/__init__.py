"""A small library for writing models: modules in the style of PyTorch that write MLIR text of the `tts` dialect."""

from tts.nn import draws, ops
from tts.nn.graph import Graph, Value
from tts.nn.layers import (
    BatchNorm1d,
    Conv1d,
    DepthwiseConv1d,
    Dropout,
    Embedding,
    LayerNorm,
    Linear,
    RmsNorm,
    SelfAttention,
    Sinusoid,
    linspace,
    normal,
)
from tts.nn.module import Module, ModuleList, Parameter
from tts.nn.types import GraphError, TensorType

__all__ = [
    "BatchNorm1d",
    "Conv1d",
    "DepthwiseConv1d",
    "Dropout",
    "Embedding",
    "Graph",
    "GraphError",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleList",
    "Parameter",
    "RmsNorm",
    "SelfAttention",
    "Sinusoid",
    "TensorType",
    "Value",
    "draws",
    "linspace",
    "normal",
    "ops",
]
