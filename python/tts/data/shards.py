"""Safetensors files with reproducible bytes: one shard of a split, written and read.

The safetensors library writes its metadata in an order that differs from run
to run; shards must not, so the few bytes around the tensors are written here.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tts.data.errors import InputError

DTYPES = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8"), "I32": np.dtype("<i4"), "I64": np.dtype("<i8")}
_HEADER_LIMIT = 100_000_000  # safetensors refuses longer ones


def encode(tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    """The file's bytes; tensors lie in the order given."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    header: dict[str, object] = {"__metadata__": metadata}
    offset, payload = 0, []
    for name, tensor in tensors.items():
        data = np.ascontiguousarray(tensor).tobytes()
        dtype = names[tensor.dtype.newbyteorder("<")]
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
        payload.append(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _HEADER_LIMIT:
        raise InputError(
            "corpus", f"a shard's header has {len(text)} bytes, safetensors allows 100 MB", "use fewer utterances"
        )
    return b"".join([struct.pack("<Q", len(text)), text, *payload])


def decode(data: bytes, place: object) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors, as views into `data`, and the metadata; anything unsound is an error at `place`."""
    damaged = "restore it, or prepare the corpus again"
    if len(data) < 8 or (length := struct.unpack("<Q", data[:8])[0]) > min(len(data) - 8, _HEADER_LIMIT):
        raise InputError(place, f"truncated: {len(data)} bytes do not hold its header", damaged)
    try:
        header = json.loads(data[8 : 8 + length])
        metadata = header.pop("__metadata__", {})
        return dict(_tensors(header, memoryview(data)[8 + length :], place)), metadata
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(place, f"its safetensors header is damaged ({error})", damaged) from error


def _tensors(header: dict, payload: memoryview, place: object) -> Iterator[tuple[str, np.ndarray]]:
    expected = 0
    for name, entry in sorted(header.items(), key=lambda pair: pair[1]["data_offsets"]):
        if entry["dtype"] not in DTYPES:
            raise InputError(place, f"tensor {name} is {entry['dtype']}", f"only {', '.join(DTYPES)} are read")
        dtype, shape, (begin, end) = DTYPES[entry["dtype"]], entry["shape"], entry["data_offsets"]
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if begin != expected or end - begin != size or end > len(payload):
            raise InputError(
                place, f"tensor {name} does not lie where its header says", "restore it, or prepare the corpus again"
            )
        expected = end
        yield name, np.frombuffer(payload[begin:end], dtype).reshape(shape)
    if expected != len(payload):
        raise InputError(
            place, f"{len(payload) - expected} bytes belong to no tensor", "restore it, or prepare the corpus again"
        )


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def crc32s(tensors: dict[str, np.ndarray]) -> str:
    """CRC-32 of each tensor's bytes, in their order: what the runtime checks whenever it reads one."""
    return ",".join(f"{zlib.crc32(np.ascontiguousarray(tensor)):08x}" for tensor in tensors.values())


def header_crc32(data: bytes) -> str:
    """CRC-32 of a file's header, with its length before it."""
    return f"{zlib.crc32(data[: 8 + struct.unpack('<Q', data[:8])[0]]):08x}"


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    return decode(path.read_bytes(), path)
