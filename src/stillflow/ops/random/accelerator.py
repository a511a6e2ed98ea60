"""The draws of `draws.py` on an accelerator, on 64-bit integers.

Numbers that a processor draws and then copies would delay a training step there. Bits are the same;
normals agree within the rounding of the device's logarithm, sine and cosine.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.random.device_philox import kernel
from stillflow.ops.random.draws import RESERVED_BLOCKS, TRUNCATION
from stillflow.ops.random.philox import (
    KEY_STEPS,
    MASK32,
    MULTIPLIERS,
    ROUNDS,
    WORDS_PER_BLOCK,
    Philox,
)

_EPSILON = 1e-7
_TWO_PI = 6.283185307179586
_SIGN = -(1 << 63)


def position(stream: Philox) -> torch.Tensor:
    """Return the position of a stream for the functions below: int64 [3], counter and key."""
    return torch.tensor(stream.state())


def blocks(position: Any, first: int, step: int, count: int) -> torch.Tensor:
    """Return the blocks first, first + step, ... of a stream: int64 [4, count] below 2**32."""
    low, high, key = position.unbind()
    compiled = kernel(position.device)
    if compiled is not None:
        ahead = torch.arange(first, first + count * step, step, device=position.device)
        return torch.stack(list(compiled(ahead, low, high, key)))
    numbers = torch.arange(count, device=position.device) * step + (low + first)
    # Beyond 2**64, which as signed numbers they are when they are less but for the sign.
    upper = high + ((numbers ^ _SIGN) < (low ^ _SIGN))
    even, odd = torch.stack([numbers, upper]), torch.stack([numbers >> 32, upper >> 32])
    return _rounds(even & MASK32, odd & MASK32, key)


def _pair(first: int, second: int, device: Any) -> torch.Tensor:
    """Two numbers, [2, 1]; made on the device, where a graph may be captured."""
    return torch.arange(2, device=device)[:, None] * (second - first) + first


def _rounds(even: Any, odd: Any, key: Any) -> torch.Tensor:
    """Ten rounds over the words c0, c2 (`even`) and c1, c3 (`odd`), each int64 [2, n]."""
    device = even.device
    factors = _pair(*MULTIPLIERS, device)
    start = torch.stack([key, key >> 32])[:, None]
    turns = torch.arange(ROUNDS, device=device)[:, None, None]
    round_keys = (start + turns * _pair(*KEY_STEPS, device)) & MASK32
    for r in range(ROUNDS):
        product = even * factors
        swapped = product.flip(0)
        even = ((swapped >> 32) ^ odd).bitwise_and_(MASK32).bitwise_xor_(round_keys[r])
        odd = swapped & MASK32
    return torch.stack([even[0], odd[0], even[1], odd[1]])


def _in_order(columns: Any, count: int) -> Any:
    """Numbers of blocks [k, n] one block after another, the first `count` of them."""
    return columns.T.reshape(-1)[:count]


def uniform(position: Any, count: int, mantissa: int) -> torch.Tensor:
    """`count` float32 in [0, 1), as `draws.uniform_float`."""
    words = blocks(position, 0, 1, -(-count // WORDS_PER_BLOCK))
    return _in_order(_units(words, mantissa), count)


def _units(words: Any, mantissa: int = 23) -> torch.Tensor:
    return (words & ((1 << mantissa) - 1)).float() * 2.0**-mantissa


def uniform_double(position: Any, count: int) -> torch.Tensor:
    """`count` float64 in [0, 1), as `draws.uniform_double`."""
    return _in_order(_unit_doubles(blocks(position, 0, 1, -(-count // 2))), count)


def _unit_doubles(words: Any) -> torch.Tensor:
    return ((words[0::2] & 0xFFFFF) << 32 | words[1::2]).double() * 2.0**-52


def uniform_int32(position: Any, count: int, low: int, high: int) -> torch.Tensor:
    """`count` int32 in [low, high), as `draws.uniform_int32`."""
    words = blocks(position, 0, 1, -(-count // WORDS_PER_BLOCK))
    return (_in_order(words, count) % (high - low) + low).int()


def normal(position: Any, count: int) -> torch.Tensor:
    """`count` standard normal float32."""
    words = blocks(position, 0, 1, -(-count // WORDS_PER_BLOCK))
    return _in_order(_normals(words), count)


def normal_double(position: Any, count: int) -> torch.Tensor:
    """`count` standard normal float64."""
    return _in_order(_normal_doubles(blocks(position, 0, 1, -(-count // 2))), count)


def _normals(words: Any) -> torch.Tensor:
    units = _units(words)
    return _box_muller(units[0::2], (units[1::2].double() * _TWO_PI).float())


def _normal_doubles(words: Any) -> torch.Tensor:
    units = _unit_doubles(words)
    return _box_muller(units[0:1], units[1:2] * _TWO_PI)


def _box_muller(unit: Any, angle: Any) -> torch.Tensor:
    radius = (unit.clamp(min=_EPSILON).log() * -2.0).sqrt()
    pairs = torch.stack([angle.sin() * radius, angle.cos() * radius], dim=1)
    return pairs.flatten(0, 1)


def truncated_normal(position: Any, count: int) -> torch.Tensor:
    """`count` standard normal float32 within two deviations."""
    return _truncated(position, count, 4, _normals)


def truncated_normal_double(position: Any, count: int) -> torch.Tensor:
    """`count` standard normal float64 within two deviations."""
    return _truncated(position, count, 2, _normal_doubles)


def _truncated(position: Any, count: int, group: int, normals: Any) -> torch.Tensor:
    """Draw like `draws._truncated`, for all groups as many blocks as the largest need."""
    groups = -(-count // group)
    step = group * RESERVED_BLOCKS // WORDS_PER_BLOCK
    candidates = normals(blocks(position, 0, step, groups))
    block = 0
    while True:
        inside = candidates.abs() < TRUNCATION
        if block and bool((inside.sum(0) >= group).all()):
            break
        block += 1
        candidates = torch.cat([candidates, normals(blocks(position, block, step, groups))])
    kept = torch.sort(inside.logical_not(), dim=0, stable=True).indices[:group]
    return _in_order(candidates.gather(0, kept), count)
