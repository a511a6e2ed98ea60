"""Estimate of the largest batch that a plan has memory for, from the sizes of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from stillflow.graph.lazy import torch
from stillflow.graph.operation import Tensor
from stillflow.runtime.ir.steps import Step
from stillflow.util.machine_memory import available_bytes, room_below_limit

_KEPT_BACK = 0.9  # of the memory that is free: allocators cannot use all of it


class _Unknown(Exception):
    """The size of a tensor cannot be told."""


class _Size(NamedTuple):
    """Bytes that stay the same, and bytes that grow with the batch."""

    fixed: float = 0
    growing: float = 0

    def __add__(self, other: Any) -> _Size:
        return _Size(self.fixed + other.fixed, self.growing + other.growing)

    def less(self, other: _Size) -> _Size:
        """Return the difference of two sizes."""
        return _Size(self.fixed - other.fixed, self.growing - other.growing)


def fitting_batch(
    steps: Sequence[Step],
    values: Mapping[str, Any],
    batch: int,
    room: float,
) -> int | None:
    """Return the largest number of examples for which all steps of a plan have memory.

    `values` are by name what was computed and still held when memory ran out, with `batch`
    examples; all that the steps compute may take `room` bytes. None if it cannot be told, as where
    sizes depend on more than the batch.
    """
    try:
        peaks = _peaks(steps, values, batch)
    except _Unknown:
        return None
    growing = [peak for peak in peaks if peak.growing > 0]
    if not growing:
        return None
    return int(min((room - peak.fixed) * batch / peak.growing for peak in growing))


def free_bytes(device: torch.device) -> int | None:
    """Return the memory that a device, or this machine, has left.

    None if the system does not tell.
    """
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(_KEPT_BACK * (free + unused))
    if device.type == "mps":
        taken = torch.mps.driver_allocated_memory() - torch.mps.current_allocated_memory()
        free = torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
        return int(_KEPT_BACK * (free + taken))
    left = [room for room in (available_bytes(), room_below_limit()) if room is not None]
    return int(_KEPT_BACK * max(0, min(left))) if left else None


def _peaks(steps: Sequence[Step], values: Mapping[str, Any], batch: int) -> list[_Size]:
    """Return the memory held while each step runs."""
    roots: dict[str, str] = {}  # the name whose memory a name is
    sizes: dict[str, _Size] = {}
    made: list[list[str]] = []
    last: dict[str, int] = {}
    for number, step in enumerate(steps):
        for name in (*step.inputs, *(a for a in step.arguments if isinstance(a, str))):
            if name in roots:
                last[roots[name]] = number
        made.append(_outputs(step, values, batch, roots, sizes))
    peaks, held = [], _Size()
    for number, names in enumerate(made):
        for name in names:
            held += sizes[name]
            last.setdefault(name, number)
        peaks.append(held)
        for name in [name for name, end in last.items() if end == number]:
            held = held.less(sizes[name])
    return peaks


def _outputs(
    step: Step,
    values: Mapping[str, Any],
    batch: int,
    roots: dict[str, str],
    sizes: dict[str, _Size],
) -> list[str]:
    """Record a step's outputs; give those that are memory of their own."""
    op = step.op
    own = []
    for place, name in enumerate(step.outputs):
        if step.kind in ("read", "alias", "flag", "bool", "number"):  # no memory of their own
            roots[name], sizes[name] = name, _Size()
            continue
        given = step.inputs[0] if step.inputs else None
        if op is not None and op.card.aliases and given in roots:
            roots[name] = roots[given]
            continue
        if isinstance(value := values.get(name), torch.Tensor):
            grows = value.shape[:1] == (batch,)
            sizes[name] = _Size(growing=value.nbytes) if grows else _Size(fixed=value.nbytes)
        elif op is not None and place < len(op._outputs):
            sizes[name] = _size_of_tensor(op._outputs[place], batch)
        else:
            sizes[name] = _Size()
        roots[name] = name
        own.append(name)
    return own


def _size_of_tensor(tensor: Tensor, batch: int) -> _Size:
    """Return the size of a value that was not computed, by its static shape.

    One unknown size is the batch; `_Unknown` if there are more.
    """
    dims = tensor.shape.dims
    if tensor.dtype._is_ref_dtype or not tensor.dtype.size or dims is None:
        return _Size()
    sizes = [dim.value for dim in dims]
    if sizes.count(None) > 1:
        raise _Unknown
    bytes_ = float(tensor.dtype.size)
    for size in sizes:
        bytes_ *= batch if size is None else size
    grows = None in sizes or (len(sizes) > 0 and sizes[0] == batch)
    return _Size(growing=bytes_) if grows else _Size(fixed=bytes_)
