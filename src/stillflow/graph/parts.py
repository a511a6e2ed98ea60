"""Types of what the parts of a card return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from stillflow.graph.dims import Dims
from stillflow.graph.node import Call, Handle

if TYPE_CHECKING:
    from stillflow.graph.indexed_slices import IndexedSlices
    from stillflow.graph.operation import Tensor

# A kernel, called at every step; None where an operation without outputs does nothing.
Kernel: TypeAlias = Call | Handle | Callable[..., Any] | None
# The dimensions of the only output, or of each.
OutputDims: TypeAlias = Dims | list[Dims]
# The gradient by one input; None where there is none.
Gradient: TypeAlias = "Tensor | IndexedSlices | None"
# The gradient by the only input, or by each.
Gradients: TypeAlias = "Gradient | Sequence[Gradient]"
