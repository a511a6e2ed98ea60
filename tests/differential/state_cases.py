"""Cases of `state.py` that update variables by single operations, made from their signatures."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stillflow.graph import card as cards

from . import outcomes
from .operation_cases import KNOWN, plain_attribute
from .state import values_of
from .variations import NUMPY_TYPES, with_other_shape, with_special_values

UPDATES = re.compile(
    r"^(Resource)?(Sparse)?Apply|^(Resource)?Scatter|^Assign|^(Resource)?CountUpTo$|"
    r"^(Resource)?StridedSliceAssign$|^ResourceGather"
)
SHAPES = [[4], [4, 2], [3, 2, 2], [1], [5, 1]]
DENSE_SHAPES = [*SHAPES, [], [0], [2, 0]]
LEAST = {"lr_power": -0.5, "lr": 0.1, "beta1": 0.5, "beta2": 0.9, "rho": 0.9, "momentum": 0.9}
FLAGS = ("use_locking", "use_nesterov", "update_slots", "validate_indices", "validate_shape")


def updates(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end: round after round, every operation once, in random order."""
    rng = random.Random(seed)
    chosen = [
        name
        for name, card in sorted(cards.load_all().items())
        if UPDATES.search(name) and _variables(card) and (not names or name in names)
    ]
    while chosen:
        rng.shuffle(chosen)
        for name in list(chosen):
            yield _drawn(rng, cards.get(name))


def _variables(card: Any) -> list[str]:
    """Return inputs that are variables."""
    return [
        arg.name
        for arg in card.signature.inputs
        if arg.is_ref or (arg.dtype is not None and arg.dtype.name == "resource")
    ]


def _drawn(rng: random.Random, card: Any) -> dict[str, Any]:
    signature, numbers = card.signature, np.random.RandomState(rng.randrange(2**31))
    held = _variables(card)
    given = [arg.name for arg in signature.inputs if arg.name not in held]
    shapes = _shapes(rng, card.name, given)
    types = {
        name: _type(rng, attr) for name, attr in signature.attrs.items() if attr.kind == "type"
    }
    element = types.get("T", types.get("dtype", np.float32))
    inputs = [
        (arg.name, _value(rng, numbers, arg, shapes, types))
        for arg in signature.inputs
        if arg.name in given
    ]
    changes = rng.choice([0, 0, 1, 1, 2]) if inputs else 0
    for _ in range(changes):
        place = rng.randrange(len(inputs))
        change = rng.choice([with_other_shape, with_special_values])
        inputs[place] = inputs[place][0], change(rng, inputs[place][1])
    kind = "resource" if not any(arg.is_ref for arg in signature.inputs) else "reference"
    return {
        "name": card.name,
        "variables": [
            (name, kind, outcomes.pack(_typed(values_of(numbers, shapes["variable"]), element)))
            for name in held
        ],
        "inputs": [(name, outcomes.pack(value)) for name, value in inputs],
        "attrs": _attributes(rng, signature),
        "known": rng.choice(KNOWN),
        "fixed": (),
        "changes": changes,
    }


def _type(rng: random.Random, attr: Any) -> Any:
    allowed = [dtype.name for dtype in attr.allowed] if attr.allowed else sorted(NUMPY_TYPES)
    if "float32" in allowed and rng.random() < 0.6:
        return np.float32
    return NUMPY_TYPES[rng.choice([name for name in allowed if name in NUMPY_TYPES])]


def _shapes(rng: random.Random, name: str, given: list[str]) -> dict[str, list[int]]:
    """Return the shapes of the variables and of the inputs that follow from it."""
    rows = rng.choice([1, 2, 3])
    if "indices" not in given:
        shape = rng.choice(DENSE_SHAPES)
        return {"variable": shape, "grad": shape, "value": shape}
    shape = rng.choice(SHAPES)
    if "Nd" in name:
        depth = rng.randrange(1, len(shape) + 1)
        found = {"indices": [rows, depth], "updates": [rows, *shape[depth:]]}
    else:
        found = {"indices": [rows], "updates": rng.choice([[rows, *shape[1:]], []])}
    if "Update" in name:
        found["updates"] = found["updates"] or [rows, *shape[1:]]
    return {"variable": shape, "grad": [rows, *shape[1:]], **found}


def _value(
    rng: random.Random,
    numbers: np.random.RandomState,
    arg: Any,
    shapes: dict[str, list[int]],
    types: dict[str, Any],
) -> np.ndarray:
    dtype = types[arg.type_attr] if arg.type_attr else NUMPY_TYPES[arg.dtype.name]
    variable = shapes["variable"]
    if arg.name == "indices":
        depth = (*shapes["indices"], 1)[1]
        least = min(variable[:depth])
        return numbers.randint(0, least, shapes["indices"]).astype(dtype)
    if arg.name in ("begin", "end", "strides"):
        every = {"begin": 0, "end": rng.choice([1, 2]), "strides": 1}[arg.name]
        return np.full([len(variable)], every, dtype)
    value = values_of(numbers, shapes.get(arg.name, []))
    if arg.name in LEAST:
        value = np.full_like(value, LEAST[arg.name])
    if arg.name == "global_step":
        value = value + 1
    return _typed(value, dtype)


def _typed(value: np.ndarray, dtype: Any) -> np.ndarray:
    if dtype is np.object_:
        items = np.empty(value.size, object)
        items[:] = [str(item).encode() for item in np.ravel(value)]
        return items.reshape(value.shape)
    if np.dtype(dtype).kind in "iu":
        value = value * 5
    return np.asarray(value).astype(dtype)


def _attributes(rng: random.Random, signature: Any) -> dict[str, Any]:
    found = {}
    given = {arg.type_attr for arg in signature.inputs}
    for name, attr in signature.attrs.items():
        if attr.has_default and name not in given:
            found[name] = plain_attribute(attr.default)
        if name in FLAGS and rng.random() < 0.3:
            found[name] = rng.choice([True, False])
        elif name == "limit":
            found[name] = rng.choice([0, 1, 5])
        elif attr.kind == "type" and not attr.has_default and name not in given:
            found[name] = ("dtype", "float32")
    return found
