"""Advice in errors about memory, and about steps that become slower and slower."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph.lazy import torch
from stillflow.graph.operation import Operation
from stillflow.runtime.devices.memory_estimate import fitting_batch, free_bytes
from stillflow.runtime.ir.steps import Step

_LARGEST = 5
_HELD = "The run held"
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_TRIED = re.compile(r"(?:ried to allocate|allocating a tensor of) ([\d.]+) (bytes|KiB|MiB|GiB)")
_NEAR = 0.8  # so much of the estimate is reported: kernels need memory of their own

# So many times a graph may grow between runs before a program is told.
MANY_CHANGES = 100


def with_memory(
    error: errors.ResourceExhaustedError,
    raised: BaseException,
    filename: str,
    steps: Sequence[Step],
    fed: Sequence[Any],
) -> errors.ResourceExhaustedError:
    """Return an out-of-memory error that lists the held values, and release these.

    A program that catches it may go on with a smaller batch. `error` is what is to be raised for
    what the plan `raised`; `filename` is the name its source was compiled under, `fed` what it was
    given.
    """
    from stillflow.runtime.plan.emit import PLAN

    traces = [each.__traceback__ for each in _chain(raised)]
    frames = [frame for trace in traces for frame, _ in traceback.walk_tb(trace)]
    plans = [frame for frame in frames if frame.f_code.co_filename.startswith(PLAN)]
    own = [frame for frame in plans if frame.f_code.co_filename == filename]
    values = dict(own[-1].f_locals) if own else {}
    inner = [dict(frame.f_locals) for frame in plans if frame not in own]
    is_told = _HELD in error.message  # by a function of the plan
    told = "" if is_told else _memory(values, inner, steps, fed, error.message)
    for trace in traces:
        traceback.clear_frames(trace)
    for frame in plans:
        frame.f_locals  # noqa: B018 - before Python 3.13 only this has it forget them
    return errors.ResourceExhaustedError(error.node_def, error.op, error.message + told)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and its causes."""
    while error is not None:
        yield error
        error = error.__cause__


def _memory(
    values: Mapping[str, Any],
    inner: Sequence[Mapping[str, Any]],
    steps: Sequence[Step],
    fed: Sequence[Any],
    message: str,
) -> str:
    """Return the text about the values of a plan, and of its running loops."""
    makers = {name: step.op for step in steps for name in step.outputs}
    held: dict[int, torch.Tensor] = {}  # by where they are: views hold nothing
    tensors, entries = [], []
    for name, value in values.items():
        if (size := _new(value, held)) > 0:
            tensors.append((value, name))
            entries.append((size, f"{_kind(value)}  {_origin(makers.get(name))}"))
    for value in (value for names in inner for value in names.values()):
        if (size := _new(value, held)) > 0:
            entries.append((size, f"{_kind(value)}  in a loop"))
    for name, value in values.items():
        inside = getattr(value, "values", None)  # of a stack, or of an array of tensors
        kept = [_new(each, held) for each in inside] if isinstance(inside, list) else []
        if sum(kept):
            what = f"{len(kept)} tensors kept by the turns of a loop"
            entries.append((sum(kept), f"{what}  {_origin(makers.get(name))}"))
    if not entries:
        return ""
    entries.sort(key=lambda entry: entry[0], reverse=True)
    total = sum(size for size, _ in entries)
    lines = ["", "", f"{_HELD} {_mib(total)} in {len(held)} tensor(s), the largest:"]
    lines += [f"  {_mib(size)}  {text}" for size, text in entries[:_LARGEST]]
    if inner:
        lines.append("It was in a loop: fewer examples at a time, or fewer turns, take less.")
    elif tensors:
        lines += _smaller_batch(steps, values, tensors, fed, message)
    return "\n".join(lines)


def _new(value: Any, held: dict[int, torch.Tensor]) -> int:
    """Return the bytes that a value holds and that were not seen before; notes that they were."""
    if not isinstance(value, torch.Tensor) or not value.numel():
        return 0
    place = value.untyped_storage().data_ptr()
    return 0 if held.setdefault(place, value) is not value else _size(value)


def _kind(value: torch.Tensor) -> str:
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"


def _smaller_batch(
    steps: Sequence[Step],
    values: Mapping[str, Any],
    tensors: Sequence[Any],
    fed: Sequence[Any],
    message: str,
) -> list[str]:
    """Return the batch size that memory allows, if values grow with the number of examples."""
    sizes = {array.shape[0] for array in fed if getattr(array, "ndim", 0) > 0}
    tried = _TRIED.search(message)
    if len(sizes) != 1 or tried is None:
        return []
    (batch,) = sizes
    made = {name for step in steps for name in step.outputs}  # the rest is fed, or constant
    held = sum(_size(value) for value, name in tensors if name in made)
    missing = float(tried[1]) * _UNITS[tried[2]]
    free = free_bytes(tensors[0][0].device)
    room = missing if free is None else min(missing, free)
    fits = fitting_batch(steps, values, batch, held + room)
    if fits is not None and 1 <= _NEAR * fits < batch:
        advice = f"by the sizes of its tensors, about {int(_NEAR * fits)} or fewer fit."
        return [f"It was fed {batch} examples at a time; {advice}"]
    growing = sum(_size(value) for value, _ in tensors if value.ndim and value.shape[0] == batch)
    passing = int(batch * growing / (growing + missing))
    if passing < 1:
        return []
    return [f"It was fed {batch} examples at a time; {passing} or fewer would have got past this."]


def _size(value: torch.Tensor) -> int:
    return value.untyped_storage().nbytes()


def _mib(size: float) -> str:
    return f"{size / (1 << 20):,.1f} MiB"


def _origin(op: Operation | None) -> str:
    return "fed, or a constant" if op is None else f"of '{op.name}' ({line_of(op)})"


def line_of(op: Operation) -> str:
    """Return the innermost line of the program that made an operation, as "train.py:12"."""
    frames = errors.of_program(op.traceback)
    if not frames:
        return "made by Stillflow"
    return f"{os.path.basename(frames[-1][0])}:{frames[-1][1]}"


def growing_graph(op: Operation) -> str:
    """Return the message for a graph that grows between runs, last by `op`, again and again."""
    return (
        f"The graph has grown between runs {MANY_CHANGES} times, last by '{op.name}' "
        f"({line_of(op)}). Every such run makes a new plan, and operations made in a training "
        "loop make it slower with every step: make them before the loop. "
        "tf.get_default_graph().finalize() before it finds where they are made."
    )
