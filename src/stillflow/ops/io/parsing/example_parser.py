"""Batches of Examples: from their bytes to the outputs of ParseExample."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from stillflow import native
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import cpp_name
from stillflow.ops.io.parsing import columns, spans, wire
from stillflow.ops.io.parsing.columns import Dense, Sparse, refuse
from stillflow.ops.io.parsing.feature_finder import FeatureFinder
from stillflow.ops.io.parsing.feature_maps import FeatureMaps
from stillflow.ops.io.parsing.spans import Spans
from stillflow.ops.io.parsing.wire import Block

# From so many features in a batch on it pays to decode them together, where they have no more bytes
# than this on average: long ones are copied faster one by one. In C sooner than without.
MANY_IN_C, SHORT_IN_C = 192, 1 << 14
MANY, SHORT = 512, 64
MANY_EXAMPLES = 24


def picker(keys: Sequence[str]) -> Callable[[Any], tuple[bytes, ...]]:
    """Return a function that gets these features' bytes from a map; b"" for missing ones."""
    if not keys:
        return lambda features: ()
    if len(keys) == 1:
        key = keys[0]
        return lambda features: (features[key],)
    return itemgetter(*keys)


def check_default(feature: Dense, default: Any) -> None:
    """Raise InvalidArgumentError for a default that does not have the feature's shape."""
    shape = tuple(default.shape)
    if shape == feature.shape:
        return
    size = math.prod(shape)
    if feature.is_variable:
        if size != 1:
            raise refuse(
                "dense_shape is a variable length shape, therefore default_value must contain a "
                f"single element ('padding element').  But its shape is: "
                f"{shape_text(shape)}"
            )
    elif size > 0:
        raise refuse(
            f"def_value.shape() == {shape_text(shape)} is not compatible with "
            f"dense_shape == {shape_text(feature.shape)}"
        )


class _Said(NamedTuple):
    """Description of a feature, for errors of an example that cannot be parsed."""

    names: Sequence[bytes]  # of the examples, or nothing

    def name(self, index: int) -> str:
        return self.names[index].decode(errors="replace") if len(self.names) else "<unknown>"

    def where(self, feature: Sparse | Dense, index: int) -> str:
        return f"Name: {self.name(index)}, Key: {feature.key}, Index: {index}.  "

    def missing(self, feature: Dense, index: int) -> str:
        return (
            f"Name: {self.name(index)}, Feature: {feature.key} (data type: "
            f"{cpp_name(feature.dtype)}) is required but could not be found."
        )


class _Makers(NamedTuple):
    """Constructors of outputs for features with varying numbers of values."""

    sparse: Callable[[Block], Sequence[Any]]
    variable: Callable[..., Sequence[Any]]


_BATCH = _Makers(columns.sparse_columns, columns.padded_columns)
_ROWS = _Makers(columns.sparse_rows, columns.variable_rows)


class ExampleParser:
    """Parses batches for one set of features.

    Similar features are adjacent here, regardless of the order of the outputs.
    """

    def __init__(self, sparse: list[Sparse], dense: list[Dense]) -> None:
        self.sparse = sparse
        self.dense = dense
        features: list[Sparse | Dense] = [*sparse, *dense]

        def likeness(place: int) -> tuple[str, str]:
            feature = features[place]
            return cpp_name(feature.dtype), str(getattr(feature, "shape", ""))

        self.places = sorted(range(len(features)), key=likeness)  # among the outputs
        self.features = [features[place] for place in self.places]
        self.runs: dict[str, list[slice]] = {}  # of features that are alike, by type
        stop = 0
        for (kind, _), members in groupby(self.places, likeness):
            start, stop = stop, stop + len(list(members))
            self.runs.setdefault(kind, []).append(slice(start, stop))
        keys = [feature.key for feature in self.features]
        self.pick = picker(keys)
        self.maps = FeatureMaps(keys, [cpp_name(feature.dtype) for feature in self.features])
        self.finder = FeatureFinder(keys)
        self.checked: list[Any] = []  # shapes of defaults that are good

    def batch(
        self, serialized: Sequence[bytes], names: Sequence[bytes], defaults: Sequence[Any]
    ) -> list[Any]:
        """Return the outputs of ParseExample."""
        return self._outputs(serialized, _Said(names), defaults, _BATCH)

    def rows(self, serialized: Sequence[bytes], defaults: Sequence[Any]) -> list[Sequence[Any]]:
        """Return the outputs of ParseSingleExample for each of some examples.

        Raises:
          InvalidArgumentError: one of them cannot be parsed; in words of ParseExample.
        """
        return self._outputs(serialized, _Said(()), defaults, _ROWS)

    def _outputs(
        self, serialized: Sequence[bytes], said: _Said, defaults: Sequence[Any], made_by: _Makers
    ) -> list[Any]:
        self._check_defaults(defaults)
        made: list[Any] = [None] * len(self.places)
        count = len(self.sparse)
        for run, block in self._blocks(serialized, said):
            features, places = self.features[run], self.places[run]
            fillers = [defaults[place - count] for place in places if place >= count]
            if isinstance(features[0], Sparse):
                outputs = made_by.sparse(block)
            else:
                dense = [feature for feature in features if not isinstance(feature, Sparse)]
                if dense[0].is_variable:
                    outputs = made_by.variable(dense, block, fillers, said.where)
                else:
                    outputs = columns.dense_columns(dense, block, fillers, said.where, said.missing)
            for place, output in zip(places, outputs, strict=True):
                made[place] = output
        matrices = zip(*made[:count], strict=True)
        return [item for part in matrices for item in part] + made[count:]

    def _check_defaults(self, defaults: Sequence[Any]) -> None:
        shapes = [default.shape for default in defaults]
        if shapes != self.checked:
            for feature, default in zip(self.dense, defaults, strict=True):
                check_default(feature, default)
            self.checked = shapes

    def _blocks(self, serialized: Sequence[bytes], said: _Said) -> Iterator[tuple[slice, Block]]:
        """Values of features that are alike, together where nothing is special about any."""
        found = self._found(serialized)
        for kind, runs in self.runs.items():
            blocks: list[Block | None] = [None] * len(runs)
            if isinstance(found, Spans):
                blocks = spans.decode(found, kind, runs)
            for run, block in zip(runs, blocks, strict=True):
                if block is not None:
                    yield run, block
                    continue
                for place in range(run.start, run.stop):
                    raws = found.column(place) if isinstance(found, Spans) else found[place]
                    feature = self.features[place]
                    read = columns.decoded(raws, feature, partial(said.where, feature))
                    yield slice(place, place + 1), columns.as_block(read, raws)

    def _found(self, serialized: Sequence[bytes]) -> Spans | list[Sequence[bytes]]:
        """Return the bytes of each example, by feature."""
        library = native.library()
        many, short = (MANY, SHORT) if library is None else (MANY_IN_C, SHORT_IN_C)
        total = len(self.places) * len(serialized)
        together = total >= many and sum(map(len, serialized)) <= short * total
        found = None
        if together and library is not None:
            found = self.finder.find(library, serialized)
        elif together and len(serialized) >= MANY_EXAMPLES:
            found = self.maps.find(serialized)
        if found is not None:
            return found
        raws = self._raws(serialized)
        return spans.join(raws) if together else raws

    def _raws(self, serialized: Sequence[bytes]) -> list[Sequence[bytes]]:
        pick = self.pick
        rows = []
        for text in serialized:
            try:
                rows.append(pick(wire.example_of(text).features.feature))
            except Exception:
                shown = text.decode("utf-8", "backslashreplace")
                raise refuse(f"Could not parse example input, value: '{shown}'") from None
        return list(zip(*rows, strict=True)) if rows else [()] * len(self.places)
