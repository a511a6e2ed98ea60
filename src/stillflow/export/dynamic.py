"""Exported modules as programs of `torch.export`, with sizes that may differ from run to run."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from stillflow.export.problems import ExportError
from stillflow.graph.operation import Tensor
from stillflow.ops.values import from_array

Names = Mapping[str, Mapping[int, str]]  # of dimensions, by input and place


def parse_dynamic(texts: list[str]) -> dict[str, dict[int, str]]:
    """Return names of dimensions from a command line: "x:0=batch,height" for the first two."""
    found: dict[str, dict[int, str]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        if not equals or not listed:
            raise ExportError(
                f"{text!r} does not name dimensions: write x:0=batch or x:0=batch,,time"
            )
        name = name if ":" in name else f"{name}:0"
        found[name] = {place: each for place, each in enumerate(listed.split(",")) if each}
    return found


def dynamic_shapes(fed: Mapping[Tensor, np.ndarray], names: Names) -> tuple[dict[int, Any], ...]:
    """Return the dimensions of a module's arguments that the graph leaves open.

    `fed` has inputs, in order, with samples; equal names mean equal sizes.
    """
    made: dict[str, Any] = {}
    shapes = []
    for tensor, array in fed.items():
        dims = tensor._dims if tensor._dims is not None else (None,) * array.ndim
        chosen = names.get(tensor.name, {})
        shape: dict[int, Any] = {}
        for place, size in enumerate(dims):
            if place in chosen:
                shape[place] = made.setdefault(chosen[place], torch.export.Dim(chosen[place]))
            elif size is None:
                shape[place] = torch.export.Dim.AUTO
        shapes.append(shape)
    return tuple(shapes)


def to_program(
    model: torch.nn.Module, fed: Mapping[Tensor, np.ndarray], names: Names
) -> torch.export.ExportedProgram:
    """Return the graph that `torch.export` makes of a module.

    ExportError if it can make none: the module's Python depends on values.
    """
    args = tuple(from_array(array) for array in fed.values())
    model = model.requires_grad_(False)
    try:
        with quiet(), torch.no_grad():
            return torch.export.export(model, args, dynamic_shapes=dynamic_shapes(fed, names))
    except Exception as error:  # any error of the tracing
        first = str(error).strip().partition("\n")[0]
        raise ExportError(
            f"torch.export cannot trace the module: {type(error).__name__}: {first}"
        ) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings, and what PyTorch prints of a module that it cannot trace."""
    nowhere = io.StringIO()
    with (
        warnings.catch_warnings(), contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):  # fmt: skip
        warnings.simplefilter("ignore")
        yield
