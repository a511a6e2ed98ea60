"""Transformations whose methods take more arguments, for their conditions."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.distributions.bijectors.bijector import Bijector


@export("contrib.distributions.bijectors.ConditionalBijector")
class ConditionalBijector(Bijector):
    """Transformation whose `_forward`, `_inverse` ... get the methods' additional arguments."""

    def forward(self, x: Any, name: str = "forward", **condition: Any) -> Any:
        """Return y = g(x)."""
        return self._call_forward(x, name, **condition)

    def inverse(self, y: Any, name: str = "inverse", **condition: Any) -> Any:
        """Return x = g^-1(y)."""
        return self._call_inverse(y, name, **condition)

    def inverse_log_det_jacobian(
        self,
        y: Any,
        event_ndims: Any,
        name: str = "inverse_log_det_jacobian",
        **condition: Any,
    ) -> Any:
        """Return log |det dx/dy|, summed over events of rank `event_ndims`."""
        return self._call_inverse_log_det_jacobian(y, event_ndims, name, **condition)

    def forward_log_det_jacobian(
        self,
        x: Any,
        event_ndims: Any,
        name: str = "forward_log_det_jacobian",
        **condition: Any,
    ) -> Tensor:
        """Return log |det dy/dx|, summed over events of rank `event_ndims`."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name, **condition)
