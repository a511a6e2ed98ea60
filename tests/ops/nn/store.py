"""Cases and results in one file: flat arrays by element type, and what points into them.

Runs under Python 3.7 and TensorFlow 1.15.5 as well, where `record.py` uses it.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np


class Writer:
    """Writer of arrays; `put` returns the reference to one."""

    def __init__(self) -> None:
        self.parts = {}  # type: Any
        self.sizes = {}  # type: Any

    def put(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.put(item) for item in value]
        value = np.asarray(value)
        kind = value.dtype.name
        start = self.sizes.get(kind, 0)
        self.parts.setdefault(kind, []).append(value.ravel())
        self.sizes[kind] = start + value.size
        return {"kind": kind, "start": start, "shape": list(value.shape)}

    def save(self, path: str, cases: Any) -> None:
        arrays = {kind: np.concatenate(parts) for kind, parts in self.parts.items()}
        text = np.frombuffer(json.dumps(cases).encode(), np.uint8)
        np.savez_compressed(path, cases=text, **arrays)


class Reader:
    """A file that `Writer` wrote.

    Attributes:
      cases: dictionaries, with the results of `Writer.put` instead of arrays.
    """

    def __init__(self, path: str) -> None:
        with np.load(path) as file:
            self.arrays = {name: file[name] for name in file.files}
        self.cases = json.loads(self.arrays.pop("cases").tobytes().decode())

    def get(self, place: Any) -> Any:
        if isinstance(place, list):
            return [self.get(item) for item in place]
        start, shape = place["start"], place["shape"]
        return self.arrays[place["kind"]][start : start + int(np.prod(shape))].reshape(shape)
