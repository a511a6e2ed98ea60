"""The variables in which `tf.random.experimental.Generator` keeps its stream's position."""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.random.draws import RESERVED_BLOCKS
from stillflow.ops.random.philox import Philox

PHILOX = 1
THREEFRY = 2
# int64 numbers in a state: counter and key.
STATE_SIZES = {PHILOX: 3, THREEFRY: 2}


def draw_from_variable(handle: Any, algorithm: int, count: int, tag: int = 0) -> Philox:
    """Return the position in a generator's variable, which moves on by `count` draws.

    The variable is int64 [3 or more]; `tag` numbers come before the state.
    """
    with handle.lock:
        state = handle.read()
        _check_type(state)
        if algorithm != PHILOX:
            raise ValueError(f"Unsupported algorithm id: {algorithm}")
        least = tag + STATE_SIZES[PHILOX]
        if state.numel() < least:
            raise ValueError(
                "For the Philox algorithm, the size of state must be at least "
                f"{least}; got {state.numel()}"
            )
        numbers = state.tolist()
        stream = Philox.from_state(numbers[tag:least])
        after = stream.copy()
        after.skip(count * RESERVED_BLOCKS)
        numbers[tag:least] = after.state()
        # A new tensor: values read before stay unchanged.
        handle.value = torch.tensor(numbers, dtype=torch.int64, device=state.device)
    return stream


def tagged_algorithm(handle: Any) -> int:
    """Return the algorithm that the first number of an old-style state names."""
    with handle.lock:
        state = handle.read()
        _check_type(state)
        if state.numel() < 1:
            raise ValueError("Size of tensor must be at least 1")
        return int(state[0])


def _check_type(state: Any) -> None:
    if state.dtype != torch.int64:
        name = str(state.dtype).removeprefix("torch.")
        raise ValueError(f"dtype of RNG state variable must be int64, not {name}")
    if state.ndim != 1:
        raise ValueError(f"RNG state must have one and only one dimension, not {state.ndim}")
