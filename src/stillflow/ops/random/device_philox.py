"""Philox as one kernel of a CUDA device, compiled when the first draw on it is planned.

As operations of torch the ten rounds are some ninety kernels, and a dropout takes longer than the
layers around it. PyTorch compiles kernels of single elements at run time (its jiterator needs
neither a compiler nor Triton). Where it does not, or where its numbers are others, there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.random.philox import KEY_STEPS, MULTIPLIERS, ROUNDS, philox_block

# 64-bit integers in and out: torch computes hardly anything with unsigned ones.
SOURCE = f"""
template <typename T>
void philox(T number, T low, T high, T key, T& w0, T& w1, T& w2, T& w3) {{
  unsigned long long sum = (unsigned long long)low + (unsigned long long)number;
  unsigned long long upper = (unsigned long long)high + (sum < (unsigned long long)low);
  unsigned int c0 = (unsigned int)sum, c1 = (unsigned int)(sum >> 32);
  unsigned int c2 = (unsigned int)upper, c3 = (unsigned int)(upper >> 32);
  unsigned int k0 = (unsigned int)key, k1 = (unsigned int)((unsigned long long)key >> 32);
  for (int turn = 0; turn < {ROUNDS}; turn++) {{
    unsigned long long p0 = {MULTIPLIERS[0]}ull * c0, p1 = {MULTIPLIERS[1]}ull * c2;
    c0 = (unsigned int)(p1 >> 32) ^ c1 ^ k0;
    c1 = (unsigned int)p1;
    c2 = (unsigned int)(p0 >> 32) ^ c3 ^ k1;
    c3 = (unsigned int)p0;
    k0 += {KEY_STEPS[0]}u;
    k1 += {KEY_STEPS[1]}u;
  }}
  w0 = c0;
  w1 = c1;
  w2 = c2;
  w3 = c3;
}}
"""

Kernel = Callable[[Any, Any, Any, Any], Any]
_CHECKED = 1000


@cache
def kernel(device: Any) -> Kernel | None:
    """Return the kernel of a CUDA device; None where there is none that gives the right numbers.

    It takes int64 tensors: how far blocks are from the counter [n], the counter's lower and upper
    half and the key []. It gives the four words of each block, int64 [n] each.
    """
    if device.type != "cuda":
        return None
    try:
        compiled: Kernel = torch.cuda.jiterator._create_multi_output_jit_fn(SOURCE, num_outputs=4)
        return compiled if is_right(compiled, device) else None
    except Exception:  # it is of a part of PyTorch that is free to change
        return None


def is_right(compiled: Kernel, device: Any) -> bool:
    """Return True if a kernel gives the words that a processor computes."""
    low, high, key = (1 << 64) - 500, (1 << 64) - 1, 0xFEDCBA9876543210
    signed = [number - (1 << 64) if number >> 63 else number for number in (low, high, key)]
    numbers = torch.arange(_CHECKED, device=device)
    there = torch.tensor(signed).to(device).unbind()
    found = torch.stack(list(compiled(numbers, *there))).T.tolist()
    counters = [(low + (high << 64) + number) % (1 << 128) for number in range(_CHECKED)]
    wanted = [list(philox_block(_words(counter, 4), _words(key, 2))) for counter in counters]
    return bool(found == wanted)


def _words(number: int, count: int) -> list[int]:
    """Return the 32-bit words of a number, the lowest first."""
    return [number >> 32 * place & 0xFFFFFFFF for place in range(count)]
