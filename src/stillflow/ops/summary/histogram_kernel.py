"""The counting of histograms as one kernel of a CUDA device, compiled when it is first planned.

As operations of torch it is six kernels for every tensor, each of which takes longer to begin than
to count a layer's weights. Where PyTorch cannot compile it (NVRTC, which comes with it, is all that
it needs), or where it counts otherwise, there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.lazy import torch

# Vectors that a launch counts, and threads of a block.
ROWS, THREADS = 32, 256
# Numbers that a block counts, at least, and how many blocks there are before it counts more.
_CHUNK, _BLOCKS = 2048, 1024
_LONGEST = (1 << 31) - (1 << 24)  # positions are 32 bits wide

_VALUES = ", ".join(f"const float* v{row}" for row in range(ROWS))
_SIZES = ", ".join(f"int n{row}" for row in range(ROWS))

SOURCE = f"""
__device__ float lower(float a, float b) {{ return b < a || b != b ? b : a; }}
__device__ float higher(float a, float b) {{ return b > a || b != b ? b : a; }}

struct Spread {{
  double sum, squares;
  float least, largest;
}};

__device__ Spread both(Spread a, Spread b) {{
  return Spread{{a.sum + b.sum, a.squares + b.squares, lower(a.least, b.least),
                higher(a.largest, b.largest)}};
}}

// What the threads of a block have found, for its first thread; always added in the same order.
__device__ Spread of_block(Spread mine, Spread* shared) {{
  Spread* own = shared + threadIdx.x;
  *own = mine;
  for (int half = {THREADS} / 2; half; half /= 2) {{
    __syncthreads();
    if (threadIdx.x < half) *own = both(*own, own[half]);
  }}
  return shared[0];
}}

extern "C" __global__ void count_numbers(
    {_VALUES}, {_SIZES},
    int chunk, int places, int width, const unsigned* table, Spread* found, int* tickets,
    double* sums, float* ends, int* counts) {{
  const float* vectors[] = {{{", ".join(f"v{row}" for row in range(ROWS))}}};
  const int sizes[] = {{{", ".join(f"n{row}" for row in range(ROWS))}}};
  extern __shared__ int mine[];
  __shared__ Spread shared[{THREADS}];
  __shared__ int is_last;
  int row = 0, before = 0, blocks = (sizes[0] + chunk - 1) / chunk;
  while (blockIdx.x >= before + blocks) {{
    before += blocks;
    blocks = (sizes[++row] + chunk - 1) / chunk;
  }}
  const float* values = vectors[row];
  int start = (blockIdx.x - before) * chunk, end = min(start + chunk, sizes[row]);
  for (int place = threadIdx.x; place <= places; place += {THREADS}) mine[place] = 0;
  __syncthreads();
  const float infinite = __int_as_float(0x7F800000);
  const Spread nothing = {{0, 0, infinite, -infinite}};
  Spread spread = nothing;
  // All lanes of a warp go as often; what is beyond the end is counted at a place of its own.
#pragma unroll 4
  for (int first = start; first < end; first += {THREADS}) {{
    int at = first + threadIdx.x, place = places;
    if (at < end) {{
      float value = values[at];
      unsigned bits = __float_as_uint(value);
      place = (table[bits >> 16] + bits) >> 16;
      double wide = value;
      spread = both(spread, Spread{{wide, wide * wide, value, value}});
    }}
#if __CUDA_ARCH__ >= 700
    unsigned alike = __match_any_sync(0xFFFFFFFF, place);  // numbers are often the same: zeros
    if (__ffs(alike) - 1 == threadIdx.x % 32) atomicAdd(mine + place, __popc(alike));
#else
    atomicAdd(mine + place, 1);
#endif
  }}
  spread = of_block(spread, shared);
  for (int place = threadIdx.x; place < places; place += {THREADS})
    if (mine[place]) atomicAdd(counts + row * width + place, mine[place]);
  if (threadIdx.x == 0) {{
    found[blockIdx.x] = spread;
    __threadfence();
    is_last = atomicAdd(tickets + row, 1) == blocks - 1;
  }}
  __syncthreads();
  if (!is_last) return;
  spread = nothing;
  for (int block = threadIdx.x; block < blocks; block += {THREADS}) {{
    const volatile Spread* other = found + before + block;
    spread = both(spread, Spread{{other->sum, other->squares, other->least, other->largest}});
  }}
  __syncthreads();
  spread = of_block(spread, shared);
  if (threadIdx.x) return;
  sums[2 * row] = spread.sum;
  sums[2 * row + 1] = spread.squares;
  ends[2 * row] = spread.least;
  ends[2 * row + 1] = spread.largest;
}}
"""
_SPREAD = 24  # bytes

Counts = Callable[[Sequence[Any]], Any]


def counting(device: Any, table: Any, places: int, width: int) -> Counts:
    """Return a function that counts vectors by the kernel, which is compiled now, or raises.

    `table`, int32 on the device, is that of `Places`; `width` is an even number of counts of a
    vector. The function takes float32 vectors on the device, without gaps. It gives an int64
    vector: the sum and the sum of squares of each, in float64, the least and the largest number of
    each, in float32, the counts, in int32, and some numbers that mean nothing.
    """
    with torch.cuda.device(device):
        launch = torch.cuda._compile_kernel(SOURCE, "count_numbers")

    def count(vectors: Sequence[Any]) -> Any:
        rows = len(vectors)
        parts = (2 * rows, rows, rows * width // 2, -(-rows // 2))
        result = torch.zeros(sum(parts), dtype=torch.int64, device=device)
        sums, ends, counts, tickets = result.split(parts)
        for first in range(0, rows, ROWS):
            some = vectors[first : first + ROWS]
            sizes = [vector.numel() for vector in some]
            chunk = max(_CHUNK, -(-sum(sizes) // _BLOCKS))
            blocks = sum(-(-size // chunk) for size in sizes)
            if not blocks:
                continue
            found = torch.empty(blocks * _SPREAD, dtype=torch.uint8, device=device)
            missing = ROWS - len(some)
            with torch.cuda.device(device):
                launch(
                    (blocks, 1, 1), (THREADS, 1, 1),
                    [*some, *[table] * missing, *sizes, *[0] * missing, chunk, places, width, table,
                     found, tickets.view(torch.int32)[first:], sums[2 * first :], ends[first:],
                     counts.view(torch.int32)[first * width :]],
                    4 * (places + 1),
                )  # fmt: skip
        return result

    return count


def fits(vectors: Sequence[Any]) -> bool:
    """Return True if vectors are short enough for the kernel."""
    return all(vector.numel() < _LONGEST for vector in vectors)
