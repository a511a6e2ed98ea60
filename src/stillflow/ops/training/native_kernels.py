"""Rules for many variables as loops in C: one pass over memory instead of one for each operation.

Each takes columns of tensors (the variables, their slots, the gradients) and the rule's numbers,
and says whether there is a loop for them, which then has run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls

_ADAGRAD, _FTRL, _RMS_PROP, _CENTERED_RMS_PROP, _ADADELTA = range(5)

_Columns = Sequence[Sequence[Any]]


def adagrad(columns: _Columns, *, lr: float, update_slots: bool = True) -> bool:
    return update_slots and run(_ADAGRAD, columns, lr)


def ftrl(
    columns: _Columns, *, lr: float, l1: float, l2: float, lr_power: float,
    l2_shrinkage: float = 0.0,
) -> bool:  # fmt: skip
    return lr_power == -0.5 and run(_FTRL, columns, lr, l1, l2, l2_shrinkage)


def rms_prop(columns: _Columns, *, lr: float, rho: float, momentum: float, epsilon: float) -> bool:
    return run(_RMS_PROP, columns, lr, rho, momentum, epsilon)


def centered_rms_prop(
    columns: _Columns, *, lr: float, rho: float, momentum: float, epsilon: float
) -> bool:
    return run(_CENTERED_RMS_PROP, columns, lr, rho, momentum, epsilon)


def adadelta(columns: _Columns, *, lr: float, rho: float, epsilon: float) -> bool:
    return run(_ADADELTA, columns, lr, rho, epsilon)


class _Variable(ctypes.Structure):
    """`Variable` of native/updates.c."""

    _fields_ = [
        ("states", ctypes.c_void_p * 4), ("grad", ctypes.c_void_p), ("size", ctypes.c_int64),
    ]  # fmt: skip


def run(rule: int, columns: _Columns, *numbers: float) -> bool:
    """Return True if the loop of a rule has run."""
    if not all(native_calls.take(*column) for column in columns):
        return False
    library: Any = native.library()
    *states, grads = columns
    variables = (_Variable * len(grads))()
    for variable, grad, *tensors in zip(variables, grads, *states, strict=True):
        variable.states[: len(tensors)] = [tensor.data_ptr() for tensor in tensors]
        variable.grad, variable.size = grad.data_ptr(), grad.numel()
    four = (ctypes.c_float * 4)(*numbers)
    threads = torch.get_num_threads()
    return not library.update_variables(variables, len(grads), rule, four, threads)
