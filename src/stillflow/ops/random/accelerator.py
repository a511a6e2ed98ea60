"""The draws of `draws.py` on an accelerator, as torch operations on 64-bit integers.

What a processor draws and then copies would hold up a training step there. Bits are the same;
normals agree within the rounding of the device's logarithm, sine and cosine.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
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
_LONGEST_RUN = 1 << 62


def blocks(stream: Philox, first: int, step: int, count: int, device: Any) -> Any:
    """The blocks first, first + step, ... of a stream: int64 [4, count] below 2**32."""
    parts = []
    for _, length, c0, c1, high in stream.runs(first, step, count, _LONGEST_RUN):
        numbers = torch.arange(length, device=device) * step + c0
        upper = [torch.full_like(numbers, word) for word in (high & MASK32, c1, high >> 32)]
        parts.append(_rounds(torch.stack([numbers, upper[0]]), torch.stack(upper[1:]), stream.key))
    return (
        torch.cat(parts, dim=1) if parts else torch.empty((4, 0), dtype=torch.int64, device=device)
    )


def _rounds(even: Any, odd: Any, key: int) -> Any:
    """Ten rounds over the words c0, c2 (`even`) and c1, c3 (`odd`), each int64 [2, n]."""
    factors = torch.tensor(MULTIPLIERS, device=even.device)[:, None]
    keys = [
        [((key >> 32 * i) + r * KEY_STEPS[i]) & MASK32 for i in range(2)] for r in range(ROUNDS)
    ]
    round_keys = torch.tensor(keys, device=even.device)[:, :, None]
    for r in range(ROUNDS):
        product = even * factors
        swapped = product.flip(0)
        even = ((swapped >> 32) ^ odd).bitwise_and_(MASK32).bitwise_xor_(round_keys[r])
        odd = swapped & MASK32
    return torch.stack([even[0], odd[0], even[1], odd[1]])


def _in_order(columns: Any, count: int) -> Any:
    """Numbers of blocks [k, n] one block after another, the first `count` of them."""
    return columns.T.reshape(-1)[:count]


def uniform(stream: Philox, count: int, mantissa: int, device: Any) -> Any:
    """`count` float32 in [0, 1), as `draws.uniform_float`."""
    words = blocks(stream, 0, 1, -(-count // WORDS_PER_BLOCK), device)
    return _in_order(_units(words, mantissa), count)


def _units(words: Any, mantissa: int = 23) -> Any:
    return (words & ((1 << mantissa) - 1)).float() * 2.0**-mantissa


def uniform_double(stream: Philox, count: int, device: Any) -> Any:
    """`count` float64 in [0, 1), as `draws.uniform_double`."""
    return _in_order(_unit_doubles(blocks(stream, 0, 1, -(-count // 2), device)), count)


def _unit_doubles(words: Any) -> Any:
    return ((words[0::2] & 0xFFFFF) << 32 | words[1::2]).double() * 2.0**-52


def uniform_int32(stream: Philox, count: int, low: int, high: int, device: Any) -> Any:
    """`count` int32 in [low, high), as `draws.uniform_int32`."""
    words = blocks(stream, 0, 1, -(-count // WORDS_PER_BLOCK), device)
    return (_in_order(words, count) % (high - low) + low).int()


def normal(stream: Philox, count: int, device: Any) -> Any:
    """`count` standard normal float32."""
    words = blocks(stream, 0, 1, -(-count // WORDS_PER_BLOCK), device)
    return _in_order(_normals(words), count)


def normal_double(stream: Philox, count: int, device: Any) -> Any:
    """`count` standard normal float64."""
    return _in_order(_normal_doubles(blocks(stream, 0, 1, -(-count // 2), device)), count)


def _normals(words: Any) -> Any:
    units = _units(words)
    return _box_muller(units[0::2], (units[1::2].double() * _TWO_PI).float())


def _normal_doubles(words: Any) -> Any:
    units = _unit_doubles(words)
    return _box_muller(units[0:1], units[1:2] * _TWO_PI)


def _box_muller(unit: Any, angle: Any) -> Any:
    radius = (unit.clamp(min=_EPSILON).log() * -2.0).sqrt()
    pairs = torch.stack([angle.sin() * radius, angle.cos() * radius], dim=1)
    return pairs.flatten(0, 1)


def truncated_normal(stream: Philox, count: int, device: Any) -> Any:
    """`count` standard normal float32 within two deviations."""
    return _truncated(stream, count, 4, _normals, device)


def truncated_normal_double(stream: Philox, count: int, device: Any) -> Any:
    """`count` standard normal float64 within two deviations."""
    return _truncated(stream, count, 2, _normal_doubles, device)


def _truncated(stream: Philox, count: int, group: int, normals: Any, device: Any) -> Any:
    """As `draws._truncated`, drawing as many blocks for all groups as any of them needs."""
    groups = -(-count // group)
    step = group * RESERVED_BLOCKS // WORDS_PER_BLOCK
    candidates = normals(blocks(stream, 0, step, groups, device))
    block = 0
    while True:
        inside = candidates.abs() < TRUNCATION
        if block and bool((inside.sum(0) >= group).all()):
            break
        block += 1
        candidates = torch.cat([candidates, normals(blocks(stream, block, step, groups, device))])
    kept = torch.sort(inside.logical_not(), dim=0, stable=True).indices[:group]
    return _in_order(candidates.gather(0, kept), count)
