"""Cases of `layers.py`: random stacks of layers with random arguments."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator, Sequence
from typing import Any

import stillflow as tf

from . import layer_tables as tables
from .arguments import Made

STYLES = ("sequential", "sequential", "functional", "functional", "classes", "functions")
OPTIONAL = 0.15  # how often an argument that need not be given is
STRANGE = 0.02  # how often it is something that its name does not ask for
Layer = tuple  # a name, arguments by name, and places of the tensors that it takes

Rng = random.Random


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end; what a case holds is plain data.

    Args:
      seed: of the first case; other seeds share none with it for 100,000 cases.
      names: layers, one of which each case begins with; any, if there are none.
    """
    number = seed * 100_000
    while True:
        rng = random.Random(number)
        case = _drawn(rng, rng.choice(sorted(names)) if names else None)
        yield {**case, "seed": number}
        number += 1


def _drawn(rng: Rng, first: str | None) -> dict[str, Any]:
    classic = {name for fitting in tables.CLASSIC.values() for name in fitting.split()}
    style = rng.choice(STYLES if not first or first in classic else STYLES[:4])
    drawing = _Drawing(rng, style)
    rank = drawing.rank_for(first) if first else rng.choice([2, 3, 3, 4, 4, 5])
    shape = rng.choice(tables.SIZES[rank])
    integers = style in STYLES[:4] and rank == 3 and (first == "Embedding" or rng.random() < 0.2)
    if integers:
        shape = [4]
        drawing.add("Embedding", 2, 3)
    elif first:
        drawing.add(first, rank)
    else:
        drawing.ranks[0] = rank
    for _ in range(rng.choice([0, 1, 2, 3]) if first else rng.choice([1, 1, 2, 3, 4])):
        drawing.extend()
    return {
        "name": " > ".join(name for name, _, _ in drawing.layers),
        "style": style,
        "batch": rng.choice([None, None, 4]),
        "shape": shape,
        "integers": integers,
        "given": rng.choice(["batch_input_shape", "input_shape", "InputLayer", "build"]),
        "layers": drawing.layers,
        "changes": drawing.strange,
        "training": _training(rng),
    }


def _training(rng: Rng) -> dict[str, Any]:
    return {
        "loss": rng.choice(["mse", rng.choice(tables.LOSSES)]),
        "metrics": rng.sample(tables.METRICS, rng.choice([0, 0, 1, 2])),
        "optimizer": rng.choice(["sgd", rng.choice(tables.OPTIMIZERS)]),
        "how": rng.choice(["batches", "fit"]),
        "weighted": rng.random() < 0.2,
    }


class _Drawing:
    """Model that grows: of its tensors the rank is known."""

    def __init__(self, rng: Rng, style: str) -> None:
        self.rng, self.style = rng, style
        self.classic = style in ("classes", "functions")
        self.by_rank = tables.CLASSIC if self.classic else tables.KERAS
        self.values = _by_name(tables.CLASSIC_VALUES if self.classic else tables.KERAS_VALUES)
        self.layers: list[Layer] = []
        self.ranks: list[int] = [0]
        self.strange = 0

    def rank_for(self, name: str) -> int:
        """Return a rank that the layer takes."""
        ranks = [rank for fitting, names in self.by_rank.items() if name in names.split()
                 for rank in fitting]  # fmt: skip
        return self.rng.choice(ranks or [3])

    def extend(self) -> None:
        """Add a layer on top of one of the tensors, most often the last."""
        rng = self.rng
        branching = self.style == "functional" and len(self.ranks) > 1
        place = rng.randrange(len(self.ranks)) if branching and rng.random() < 0.3 else -1
        rank = self.ranks[place]
        others = [at for at, other in enumerate(self.ranks) if other == rank]
        if self.style == "functional" and len(others) > 1 and rng.random() < 0.4:
            pair = rng.sample(others, 2)
            self.add(rng.choice(tables.MERGING.split()), rank, sources=pair)
            return
        self.add(self.fitting(rank), rank, sources=[place % len(self.ranks)])

    def fitting(self, rank: int) -> str:
        """Return a layer for a rank.

        Those of one rank only are as likely as those that any suits.
        """
        groups = [names for ranks, names in self.by_rank.items() if rank in ranks] or ["Flatten"]
        return self.rng.choice(self.rng.choice(groups).split())

    def add(self, name: str, rank: int, given: int = 0, sources: Sequence[int] = (0,)) -> None:
        """Add a layer that takes tensors of a rank."""
        if not self.layers:
            self.ranks[0] = rank
        arguments = self.arguments(name, rank)
        self.layers.append((name, arguments, list(sources)))
        self.ranks.append(given or _rank_after(name, arguments, rank))

    def arguments(self, name: str, rank: int) -> dict[str, Any]:
        """Arguments of a layer, by name: those that it needs, and some of the others."""
        found = {}
        for parameter in _parameters(name, self.style):
            own = parameter.name
            values = self._values(name, own, rank)
            if values is None:
                continue
            if parameter.default is parameter.empty or self.rng.random() < OPTIONAL:
                found[own] = self.rng.choice(values)
                if not isinstance(found[own], Made) and self.rng.random() < STRANGE:
                    found[own] = self.rng.choice(tables.STRANGE)
                    self.strange += 1
        return found

    def _values(self, layer: str, name: str, rank: int) -> list[Any] | None:
        """Return the candidates for an argument, or None if none are defined."""
        if name in NESTED:
            return [NESTED[name](self, layer, rank)]
        if name == "padding" and layer.startswith("ZeroPadding"):
            return self._per_axis([0, 1, 2], rank, pairs=True)
        if name in tables.PER_AXIS:
            return self._per_axis(tables.PER_AXIS[name], rank, pairs=name == "cropping")
        return self.values.get(name) or self.values.get(name.rpartition("_")[2])

    def _per_axis(self, values: list[int], rank: int, pairs: bool = False) -> list[Any]:
        axes = max(rank - 2, 1)
        one = [self.rng.choice(values) for _ in range(axes)]
        two = [[self.rng.choice(values), self.rng.choice(values)] for _ in range(axes)]
        return [self.rng.choice(values), one, *([two if axes > 1 else two[0]] if pairs else [])]

    def nested(self, name: str, rank: int) -> Made:
        """Return a layer or a cell that is an argument of another layer."""
        return Made("layer", (name, self.arguments(name, rank)))

    def repeated(self, layer: str, rank: int) -> Made:
        """Return the layer that a wrapper applies."""
        if layer == "Bidirectional":
            return self.nested(self.rng.choice(tables.RECURRENT.split()), rank)
        return self.nested(self.fitting(rank - 1), rank - 1)

    def cell(self, layer: str, rank: int) -> Any:
        """Return a recurrent cell, or several."""
        cells = [self.nested(self.rng.choice(tables.CELLS.split()), rank) for _ in range(2)]
        return self.rng.choice([cells[0], cells])


NESTED = {"layer": _Drawing.repeated, "cell": _Drawing.cell}


def _by_name(values: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: given for names, given in values.items() for name in names.split()}


def _parameters(name: str, style: str) -> list[inspect.Parameter]:
    """Return the parameters of a layer; every layer of tf.keras takes a name as well."""
    if style == "functions":
        function: Any = getattr(tf.layers, tables.FUNCTIONS[name])
    else:
        function = getattr(tf.layers if style == "classes" else tf.keras.layers, name)
    parameters = dict(inspect.signature(function).parameters)
    parameters.pop("inputs", None)
    if style not in ("classes", "functions"):
        for extra in ("name", "trainable", "dtype"):
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.setdefault(extra, inspect.Parameter(extra, kind, default=None))
    return list(parameters.values())


def _rank_after(name: str, arguments: dict[str, Any], rank: int) -> int:
    inner = arguments.get("layer")
    options = inner.told[1] if name == "Bidirectional" and inner else arguments
    if name in ("GRU", "LSTM", "RNN", "SimpleRNN", "Bidirectional"):
        return 3 if options.get("return_sequences") else 2
    if name == "ConvLSTM2D":
        return 5 if options.get("return_sequences") else 4
    if name == "Reshape" and isinstance(arguments["target_shape"], list):
        return 1 + len(arguments["target_shape"])
    if name == "TimeDistributed" and inner:
        return 1 + _rank_after(*inner.told, rank - 1)
    return tables.RANKS.get(name, rank)
