"""Reports on checkpoints of either format."""

from __future__ import annotations

import math
import os
from typing import Any

from stillflow import errors
from stillflow.files import checkpoint_state, tensor_types
from stillflow.files.checkpoint_reader import CheckpointReader
from stillflow.util import progress

Report = dict[str, Any]


def describe_checkpoint(prefix: str, verify: bool = True) -> Report:
    """Return the content of a checkpoint; every tensor's checksum is compared if to `verify`."""
    reader = CheckpointReader(prefix)
    shapes, types = reader.get_variable_to_shape_map(), reader.type_numbers()
    parameters = sum(math.prod(shape) for shape in shapes.values())
    report: Report = {
        "format": "V2" if os.path.exists(f"{prefix}.index") else "V1",
        "tensors": {
            name: f"{tensor_types.name_of(types[name])} {shapes[name]}" for name in sorted(shapes)
        },
        "count": len(shapes),
        "parameters": parameters,
    }
    if not verify:
        return report | {"checksums": "not verified"}
    damaged = _damaged(reader, sorted(shapes))
    if not damaged:
        return report | {"checksums": "right"}
    report["checksums"] = f"damaged: {len(damaged)} of {len(shapes)} tensors"
    return report | {"damaged": damaged}


def _damaged(reader: CheckpointReader, names: list[str]) -> dict[str, str]:
    """Why tensors cannot be read, by name."""
    found = {}
    for name in progress.over(names, "reading", "tensors"):
        try:
            reader.get_tensor(name)
        except errors.OpError as error:
            found[name] = error.message
    return found


def describe_state(path: str) -> Report:
    """Return the content of a directory's checkpoint state file."""
    state = checkpoint_state.read(path)
    folder = os.path.dirname(path)
    paths = list(state.all_model_checkpoint_paths) or [state.model_checkpoint_path]
    return {
        "last": state.model_checkpoint_path,
        "checkpoints": {each: _is_there(os.path.join(folder, each)) for each in paths},
    }


def _is_there(prefix: str) -> str:
    there = os.path.exists(f"{prefix}.index") or os.path.exists(prefix)
    return "there" if there else "missing"
