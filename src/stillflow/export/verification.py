"""Exported models against the session: the same inputs, and how far the outputs are apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from google.protobuf.message import DecodeError

from stillflow.export.capture import Program
from stillflow.export.naming import keys_of
from stillflow.export.problems import ExportError
from stillflow.graph.operation import Tensor
from stillflow.ops.variables.buffer import Buffer
from stillflow.protos import Summary
from stillflow.runtime.ir.steps import Step

TOLERANCE = 1e-4  # of the larger of 1 and the largest value
_COARSE = 2.0**-7  # where a part is bfloat16: one unit in the last place
_BATCH = 2
_SIDE = 64  # of images whose size is not known


@dataclass
class Comparison:
    """Outputs of an exported model, compared with those of the session.

    Attributes:
      inputs, outputs: arrays by name, the outputs of the session.
      differences: the largest difference of each output, over the larger of 1 and its largest
        value.
      problems: why outputs cannot be compared.
      draws: an operation that draws random numbers, if there is one.
    """

    inputs: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]
    differences: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    draws: str = ""
    tolerance: float = TOLERANCE

    @property
    def largest(self) -> float:
        """The largest difference of all outputs."""
        return max(self.differences.values(), default=0.0)

    @property
    def equal(self) -> bool:
        """Return True if no difference is above the tolerance."""
        return not self.problems and not self.largest > self.tolerance

    @property
    def message(self) -> str:
        """The verdict in a sentence."""
        if self.problems:
            return f"the exported model differs: {'; '.join(self.problems)}"
        verdict = "agrees with" if self.equal else "differs from"
        reason = f"; {self.draws} draws random numbers, which differ from run to run"
        return (
            f"the exported model {verdict} the session: largest difference {self.largest:.3g}"
            f" (tolerance {self.tolerance:g}){reason if self.draws and not self.equal else ''}"
        )


def sample_inputs(
    program: Program, samples: Mapping[str, Any] | None = None
) -> dict[Tensor, np.ndarray]:
    """Return arrays for a program's inputs: samples that are given, others made up."""
    given = {_with_place(name): value for name, value in (samples or {}).items()}
    rng = np.random.default_rng(0)
    found: dict[Tensor, np.ndarray] = {}
    for tensor, _ in program.inputs:
        if tensor.name in given:
            found[tensor] = _fitting(tensor, given.pop(tensor.name))
        else:
            found[tensor] = _made_up(tensor, rng)
    if given:
        raise ExportError(f"samples are for no input of the model: {', '.join(given)}")
    return found


def _with_place(name: str) -> str:
    return name if ":" in name else f"{name}:0"


def _fitting(tensor: Tensor, value: Any) -> np.ndarray:
    array = np.asarray(value)
    dims = tensor._dims
    fits = dims is None or (
        len(dims) == array.ndim
        and all(size is None or size == have for size, have in zip(dims, array.shape, strict=True))
    )
    if not fits:
        raise ExportError(f"the sample for {tensor.name} has shape {list(array.shape)}")
    if tensor.dtype.name == "string":
        return array.astype(object)
    return array.astype(tensor.dtype.base_dtype.as_numpy_dtype)


def _made_up(tensor: Tensor, rng: Any) -> np.ndarray:
    """Return an array in the shape of an input; sizes that are not known are small."""
    dims = tensor._dims if tensor._dims is not None else (_BATCH,)
    rest = _SIDE if len(dims) == 4 else 8
    shape = tuple(
        size if size is not None else _BATCH if place == 0 else rest
        for place, size in enumerate(dims)
    )
    dtype = tensor.dtype.base_dtype
    if dtype.name == "string":
        return np.full(shape, b"", object)
    if dtype.name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    kind = dtype.as_numpy_dtype
    if dtype.is_integer or dtype.is_quantized:
        return rng.integers(0, 2, shape).astype(kind)
    if dtype.is_complex:
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(kind)
    return rng.uniform(0, 1, shape).astype(kind)


def compare(
    session: Any,
    program: Program,
    fed: Mapping[Tensor, np.ndarray],
    run: Callable[..., Any],
    first: bool = False,
) -> Comparison:
    """Run a model and the session on the same inputs.

    `run` goes from tensors in the order of the inputs to a tensor or a tuple; with `first`, images
    have their channels first there, and in the comparison.
    """

    def turned(tensor: Tensor, array: np.ndarray) -> np.ndarray:
        return array.transpose(0, 3, 1, 2) if first and program.is_image(tensor) else array

    fetched = [tensor for tensor, _ in program.outputs]
    before = _variables(program)
    feeds: dict[Any, Any] = dict(fed)
    feeds.update(dict.fromkeys(program.training.values(), False))
    expected, _ = session.run([fetched, list(program.targets)], feeds)
    comparison = Comparison(
        {tensor.name: turned(tensor, array) for tensor, array in fed.items()},
        {t.name: turned(t, as_array(value)) for t, value in zip(fetched, expected, strict=True)},
    )
    comparison.draws = _random_operation(program.steps)
    types = {tensor.dtype.base_dtype.name for tensor in program.tracer.values}
    comparison.tolerance = _COARSE if "bfloat16" in types else TOLERANCE
    try:
        with torch.no_grad():
            given = run(*map(_as_torch, comparison.inputs.values()))
    except Exception as error:  # any error of the exported model
        comparison.problems.append(f"it raises {type(error).__name__}: {error}")
        return comparison
    if not fetched:
        given = ()
    results = given if isinstance(given, (tuple, list)) else (given,)
    for name, value in zip((tensor.name for tensor in fetched), results, strict=True):
        _compare_one(comparison, name, comparison.outputs[name], as_array(value))
    _compare_variables(comparison, run, before)
    return comparison


def _variables(program: Program) -> list[tuple[str, Any, torch.Tensor]]:
    """Return the variables of a program that changes some: name, buffer, and a copy."""
    found: dict[str, tuple[str, Any, torch.Tensor]] = {}
    for local, parameter in program.parameters.items() if program.changes else ():
        state = program.tracer.constants.get(local)
        if isinstance(state, Buffer):
            found[parameter.name] = (parameter.name, state, state.value.clone())
    return list(found.values())


def _compare_variables(comparison: Comparison, model: Any, variables: Sequence[Any]) -> None:
    """Compare the values that variables have after a step; they get back those before it."""
    keys = keys_of(name for name, _, _ in variables)
    for name, state, before in variables:
        own = dict(model.state_dict(keep_vars=True))[keys[name]]
        _compare_one(comparison, name, as_array(state.value), as_array(own))
        state.value, own.data = before, before.clone()


def _random_operation(steps: Sequence[Step]) -> str:
    """Return the name of an operation that draws random numbers while the model rests, or ""."""
    for step in steps:
        found = _random_operation(step.arguments[0].steps) if step.kind == "loop" else ""
        if found:
            return found
        card = None if step.op is None else step.op.card
        if card is None or not card.signature.is_stateful or card.handle or card.gives:
            continue
        if card.idempotent:  # checks and prints
            continue
        if step.op is not None and step.kind == "call" and not step.guard:
            return step.op.name
    return ""


def _as_torch(array: np.ndarray) -> Any:
    from stillflow.ops.values import from_array

    return from_array(array)


def as_array(value: Any) -> np.ndarray:
    """Return a result of a model as an array."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().resolve_conj()
        return value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)


def _compare_one(comparison: Comparison, name: str, wanted: np.ndarray, found: np.ndarray) -> None:
    if wanted.shape != found.shape:
        comparison.problems.append(
            f"{name} has shape {list(found.shape)} instead of {list(wanted.shape)}"
        )
        return
    if wanted.dtype == object and wanted.size == 1:
        ours, theirs = _summary(wanted.item()), _summary(found.item())
        if ours and theirs and ours[0] == theirs[0]:
            scale = np.maximum(1, np.abs(ours[1]))
            wanted, found = ours[1] / scale, theirs[1] / scale
    comparison.differences[name] = difference(wanted, found)


def _summary(text: bytes) -> tuple[list[Any], np.ndarray] | None:
    """Return the tags and numbers of a summary of scalars and histograms; None of other texts."""
    try:
        values = Summary.FromString(text).value
    except DecodeError:
        return None
    tags = [(value.tag, value.WhichOneof("value")) for value in values]
    if not tags or not {kind for _, kind in tags} <= {"simple_value", "histo"}:
        return None
    fields = ("min", "max", "num", "sum", "sum_squares")
    rows = [[v.simple_value, *(getattr(v.histo, name) for name in fields)] for v in values]
    return tags, np.array(rows)


def difference(wanted: np.ndarray, found: np.ndarray) -> float:
    """Return the largest difference of two arrays, over the larger of 1 and the largest value."""
    if wanted.dtype == object or wanted.dtype.kind in "SUb" or not wanted.size:
        return 0.0 if np.array_equal(wanted, found) else float("inf")
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    wanted, found = wanted.astype(kind), found.astype(kind)
    odd = ~np.isfinite(wanted)
    if odd.any():
        if not np.array_equal(wanted[odd], found[odd], equal_nan=True):
            return float("inf")
        wanted, found = np.where(odd, 0, wanted), np.where(odd, 0, found)
    if np.isnan(found).any():
        return float("inf")
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0)))
    return float(np.max(np.abs(wanted - found), initial=0)) / scale
