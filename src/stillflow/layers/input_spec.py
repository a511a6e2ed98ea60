"""Specs of a layer's inputs."""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.keras.backend.config import floatx


@export("layers.InputSpec", "keras.layers.InputSpec")
class InputSpec:
    """The rank, shape, dtype and dimensions that an input of a layer must have.

    Args:
      dtype: of the elements.
      shape: all dimensions, None for any.
      ndim, max_ndim, min_ndim: the rank, its bounds.
      axes: {axis: size}.

    Raises:
      TypeError: if an axis is not an integer.
      ValueError: if an axis is beyond the rank.
    """

    def __init__(
        self,
        dtype: Any = None,
        shape: Any = None,
        ndim: int | None = None,
        max_ndim: int | None = None,
        min_ndim: int | None = None,
        axes: dict[int, Any] | None = None,
    ) -> None:
        self.dtype = dtypes.as_dtype(dtype).name if dtype is not None else None
        self.shape, self.ndim = shape, ndim if shape is None else len(shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        try:
            self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        except (ValueError, TypeError):
            raise TypeError("The keys in axes must be integers.") from None
        if self.axes and (self.ndim is not None or max_ndim is not None):
            last = (self.ndim or max_ndim or 0) - 1
            if max(self.axes) > last:
                raise ValueError(
                    f"Axis {max(self.axes)} is greater than the maximum allowed value: {last}"
                )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        """Return the spec with these arguments."""
        return cls(**config)

    def __repr__(self) -> str:
        config = self.get_config()
        return f"InputSpec({', '.join(f'{k}={v}' for k, v in config.items() if v)})"


def to_tensor_shape(spec: InputSpec) -> TensorShape:
    """Return the shape of the inputs that a spec allows, unknown where several ranks are."""
    if spec.ndim is None and spec.shape is None:
        return TensorShape(None)
    if spec.shape is not None:
        return TensorShape(spec.shape)
    dims: list[Any] = [None] * (spec.ndim or 0)
    for axis, size in spec.axes.items():
        dims[axis] = size
    return TensorShape(dims)


def to_tensor_spec(spec: InputSpec | None, default_dtype: Any = None) -> TensorSpec:
    """Return the `TensorSpec` that a spec allows, of Keras' dtype by default; None, any shape."""
    default_dtype = default_dtype or floatx()
    if spec is None:
        return TensorSpec(None, default_dtype)
    return TensorSpec(to_tensor_shape(spec), spec.dtype or default_dtype)


def check_inputs(input_spec: Any, inputs: Any, layer_name: str) -> None:
    """Raise ValueError for inputs that a layer's specs do not allow; None allows all.

    There is an `InputSpec`, or a structure of them with one for each tensor.
    """
    if not input_spec:
        return
    inputs, specs = nest.flatten(inputs), nest.flatten(input_spec)
    if len(inputs) != len(specs):
        raise ValueError(
            f"Layer {layer_name} expects {len(specs)} inputs, but it received {len(inputs)} input "
            f"tensors. Inputs received: {inputs}"
        )
    for index, (x, spec) in enumerate(zip(inputs, specs, strict=True)):
        if spec is None:
            continue
        prefix = f"Input {index} of layer {layer_name} is incompatible with the layer: "
        _check_rank(spec, x, prefix)
        if spec.dtype is not None and x.dtype != spec.dtype:
            raise ValueError(f"{prefix}expected dtype={spec.dtype}, found dtype={x.dtype}")
        if spec.axes:
            _check_axes(spec, x, prefix)
        if spec.shape is not None:
            _check_shape(spec, x, f"Input {index} is incompatible with layer {layer_name}: ")


def _check_rank(spec: InputSpec, x: Any, prefix: str) -> None:
    if spec.ndim is None and spec.min_ndim is None and spec.max_ndim is None:
        return
    rank = x.shape.ndims
    if rank is None:
        raise ValueError(f"{prefix}its rank is undefined, but the layer requires a defined rank.")
    if spec.ndim is not None and rank != spec.ndim:
        raise ValueError(
            f"{prefix}expected ndim={spec.ndim}, found ndim={rank}. "
            f"Full shape received: {x.shape.as_list()}"
        )
    if spec.max_ndim is not None and rank > spec.max_ndim:
        raise ValueError(f"{prefix}expected max_ndim={spec.max_ndim}, found ndim={rank}")
    if spec.min_ndim is not None and rank < spec.min_ndim:
        raise ValueError(
            f"{prefix}: expected min_ndim={spec.min_ndim}, found ndim={rank}. "
            f"Full shape received: {x.shape.as_list()}"
        )


def _check_axes(spec: InputSpec, x: Any, prefix: str) -> None:
    dims = x.shape.as_list()
    for axis, size in spec.axes.items():
        size = getattr(size, "value", size)
        if size is not None and dims[axis] not in (size, None):
            raise ValueError(
                f"{prefix}expected axis {axis} of input shape to have value {size} but received "
                f"input with shape {dims}"
            )


def _check_shape(spec: InputSpec, x: Any, prefix: str) -> None:
    dims = x.shape.as_list()
    for wanted, found in zip(spec.shape, dims, strict=False):
        if wanted is not None and found is not None and wanted != found:
            raise ValueError(f"{prefix}expected shape={spec.shape}, found shape={dims}")
