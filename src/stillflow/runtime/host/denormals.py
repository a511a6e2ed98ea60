"""Denormal numbers become zero while operations run, as in TF's threads, and nowhere else."""

from __future__ import annotations

from types import TracebackType

import numpy as np
import torch

# NumPy examines denormals when it is first asked about a type, keeps the result, and warns if they
# are zero: so it is asked while they are not.
for _kind in (np.float16, np.float32, np.float64, np.longdouble):
    np.finfo(_kind)


class Flushed:
    """A context in which this thread flushes denormal numbers to zero.

    It costs a quarter of a microsecond and spares kernels the processor's slow path for them.
    torch's worker threads are started in it, and keep to it.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        torch.set_flush_denormal(True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        torch.set_flush_denormal(False)


flushed = Flushed()
