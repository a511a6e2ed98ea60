"""Cases of `operations.py`: random variations of the samples of Stillflow's cards."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from tests.ops.sampling import arrays_of

import stillflow as tf
from stillflow.graph import card as cards
from stillflow.ops.samples import Sample

from . import outcomes
from .outcomes import each, listed
from .variations import ATTRIBUTES, NUMPY_TYPES, with_other_shape, with_special_values, with_type

# What the graph knows of the inputs: their values, shapes, ranks, or types alone.
KNOWN = ("values", "sizes", "sizes", "ranks", "types")
LARGEST = 5000  # elements of an input
SKIPPED = {"Abort", "PyFunc", "PyFuncStateless", "EagerPyFunc"}  # end or call the process


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end: round after round, every operation once, in random order.

    Args:
      seed: what the choice depends on, and nothing else.
      names: operations to keep to; all that have samples, if there are none.
    """
    rng = random.Random(seed)
    chosen = [
        name
        for name, card in sorted(cards.load_all().items())
        if (not names or name in names) and _comparable(card)
    ]
    while chosen:
        rng.shuffle(chosen)
        for name in list(chosen):
            samples = _samples(name)
            if samples:
                yield _varied(rng, cards.get(name), rng.choice(samples))
            else:
                chosen.remove(name)


def _comparable(card: Any) -> bool:
    """Return True if equal inputs always give equal outputs, in graphs of the version of today."""
    return bool(
        card.samples_part
        and card.signature.outputs
        and card.foldable
        and not card.removed
        and not card.elsewhere
        and card.name not in SKIPPED
        and all(attr.element not in ("tensor", "func") for attr in card.signature.attrs.values())
    )


@functools.cache
def _samples(name: str) -> list[tuple[list[Any], Any]]:
    """Return inputs, as arrays, and the sample, of good samples that plain arrays can hold."""
    card = cards.get(name)
    found = []
    for sample in card.samples_part():
        if isinstance(sample, Sample):
            inputs = [each(_texts_as_bytes, value) for value in arrays_of(card, sample)]
            if all(_plain(array) for value in inputs for array in listed(value)):
                found.append((inputs, sample))
    return found


def _texts_as_bytes(value: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "OSU":
        return array
    items = np.empty(array.size, object)
    items[:] = [x if isinstance(x, bytes) else str(x).encode() for x in array.ravel()]
    return items.reshape(array.shape)


def _plain(array: np.ndarray) -> bool:
    return array.size < LARGEST and array.dtype.type in NUMPY_TYPES.values()


def _varied(rng: random.Random, card: Any, base: tuple[list[Any], Any]) -> dict[str, Any]:
    """Return a case from a sample with none to three changes."""
    inputs, sample = list(base[0]), base[1]
    attrs = {key: plain_attribute(value) for key, value in sample.attrs.items()}
    changes = rng.choice([0, 1, 1, 1, 2, 2, 3])
    for _ in range(changes):
        CHANGES[rng.choice(sorted(CHANGES))](rng, card, inputs, attrs)
    return {
        "name": card.name,
        "inputs": [
            (arg.name, each(outcomes.pack, value))
            for arg, value in zip(card.signature.inputs, inputs)
        ],
        "attrs": {**_defaults(card), **attrs},
        "known": rng.choice(KNOWN),
        "fixed": tuple(sample.fixed),
        "changes": changes,
    }


def _change_type(rng: random.Random, card: Any, inputs: list[Any], attrs: dict[str, Any]) -> None:
    names = [arg.type_attr for arg in card.signature.inputs if arg.type_attr]
    if not names:
        return
    name = rng.choice(names)
    allowed = card.signature.attrs[name].allowed
    types = [dtype.name for dtype in allowed] if allowed else sorted(NUMPY_TYPES)
    dtype = NUMPY_TYPES.get(rng.choice(types), np.float32)
    attrs.pop(name, None)
    for place, arg in enumerate(card.signature.inputs):
        if arg.type_attr == name:
            changed = [with_type(array, dtype) for array in listed(inputs[place])]
            if all(array is not None for array in changed):
                inputs[place] = changed if isinstance(inputs[place], list) else changed[0]


def _change_value(rng: random.Random, card: Any, inputs: list[Any], attrs: Any) -> None:
    _change_one(rng, inputs, with_special_values)


def _change_shape(rng: random.Random, card: Any, inputs: list[Any], attrs: Any) -> None:
    _change_one(rng, inputs, with_other_shape)


def _change_one(rng: random.Random, inputs: list[Any], change: Callable[..., Any]) -> None:
    places = [place for place, value in enumerate(inputs) if listed(value)]
    if not places:
        return
    place = rng.choice(places)
    items = list(listed(inputs[place]))
    at = rng.randrange(len(items))
    items[at] = change(rng, items[at])
    inputs[place] = items if isinstance(inputs[place], list) else items[0]


def _change_all_shapes(rng: random.Random, card: Any, inputs: list[Any], attrs: Any) -> None:
    """Change all shapes alike, so that shapes that must agree still do."""
    state = rng.getstate()
    for place, value in enumerate(inputs):
        rng.setstate(state)
        inputs[place] = each(lambda array: with_other_shape(rng, array), value)


def _change_attribute(rng: random.Random, card: Any, inputs: Any, attrs: dict[str, Any]) -> None:
    given = {arg.number_attr for arg in card.signature.inputs}
    names = [
        name
        for name, attr in card.signature.attrs.items()
        if attr.kind in ATTRIBUTES and name not in given
    ]
    if names:
        name = rng.choice(names)
        attr = card.signature.attrs[name]
        old = attrs.get(name, attr.default if attr.has_default else None)
        allowed = attr.kind == "string" and attr.allowed
        attrs[name] = rng.choice(list(allowed)) if allowed else ATTRIBUTES[attr.kind](rng, old)
        attrs[name] = plain_attribute(attrs[name])


def _change_length(rng: random.Random, card: Any, inputs: list[Any], attrs: Any) -> None:
    places = [place for place, value in enumerate(inputs) if isinstance(value, list) and value]
    if places:
        place = rng.choice(places)
        value = inputs[place]
        inputs[place] = value[:-1] if len(value) > 1 and rng.random() < 0.5 else value + value[:1]


CHANGES: dict[str, Callable[..., None]] = {
    "attribute": _change_attribute,
    "length of a list": _change_length,
    "shape": _change_shape,
    "shapes of all": _change_all_shapes,
    "type": _change_type,
    "value": _change_value,
}


def plain_attribute(value: Any) -> Any:
    """Return an attribute as plain data: types and shapes as pairs that say what they are."""
    if isinstance(value, tf.DType):
        return ("dtype", value.name)
    if isinstance(value, tf.TensorShape):
        return ("shape", None if value.ndims is None else value.as_list())
    if isinstance(value, (list, tuple)):
        return [plain_attribute(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _defaults(card: Any) -> dict[str, Any]:
    """Defaults of attributes, which TensorFlow's function for any operation asks for."""
    inferred = {arg.type_attr for arg in card.signature.inputs}
    return {
        name: plain_attribute(attr.default)
        for name, attr in card.signature.attrs.items()
        if attr.has_default and name not in inferred
    }
