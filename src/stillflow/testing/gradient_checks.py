"""Identities that look at, or change, the gradient that passes through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.api import control_dependencies
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import fill
from stillflow.ops.arrays.shape import shape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.debugging.comparisons import assert_equal
from stillflow.variables.custom_gradient import custom_gradient

Identity = Callable[[Any], Tensor]


def create_identity_with_grad_check_fn(
    expected_gradient: Any, expected_dtype: Any = None
) -> Identity:
    """Return an identity that fails where its gradient is another than expected.

    The dtype, if given, is checked while the graph is built.
    """

    @custom_gradient
    def checked(x: Tensor) -> tuple[Tensor, Callable[..., Any]]:
        def grad(dx: Tensor) -> Tensor:
            if expected_dtype:
                assert dx.dtype == expected_dtype, (
                    f"dx.dtype should be {expected_dtype} but is: {dx.dtype}"
                )
            expected = convert_to_tensor(
                expected_gradient, dtype=dx.dtype, name="expected_gradient"
            )
            with control_dependencies([assert_equal(dx, expected)]):
                return identity(dx)

        return identity(x), grad

    return checked


def create_identity_with_nan_gradients_fn(have_nan_gradients: Any) -> Identity:
    """Return an identity whose gradient is NaN if `have_nan_gradients`, a boolean tensor."""

    def grad(dx: Tensor) -> Any:
        def not_a_number() -> Tensor:
            return fill(shape(dx), nan)

        with control_dependencies([dx]):  # or the NaN could be there before the gradient
            nan = constant(float("nan"), dtype=dx.dtype)
        return cond(have_nan_gradients, not_a_number, lambda: dx)

    return custom_gradient(lambda x: (identity(x), grad))
