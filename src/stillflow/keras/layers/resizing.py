"""Layers that make sequences, images and volumes larger or smaller."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend import shaping
from stillflow.layers.base_layer import Layer
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.utils import normalize_data_format, normalize_tuple


class _Resizing(Layer):
    """A layer that changes the sizes along `_rank` dimensions.

    Attributes:
      _argument: name of the constructor's argument.
    """

    _rank: int
    _argument: str
    data_format = "channels_last"

    def _take(self, value: Any, data_format: str | None) -> None:
        setattr(self, self._argument, value)
        if self._rank > 1:
            self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    @property
    def _first(self) -> int:
        """The first dimension whose size changes."""
        return 2 if self.data_format == "channels_first" else 1

    def _new_size(self, size: int, i: int) -> int:
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the new sizes."""
        sizes = TensorShape(input_shape).as_list()
        for i in range(self._rank):
            size = sizes[self._first + i]
            sizes[self._first + i] = None if size is None else self._new_size(size, i)
        return TensorShape(sizes)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = {**super().get_config(), self._argument: getattr(self, self._argument)}
        return {**config, "data_format": self.data_format} if self._rank > 1 else config


class _UpSampling(_Resizing):
    _argument = "size"
    size: Any

    def _new_size(self, size: int, i: int) -> int:
        return size * (self.size if self._rank == 1 else self.size[i])


@export("keras.layers.UpSampling1D")
class UpSampling1D(_UpSampling):
    """Each step of sequences several times.

    Args:
      size: how often.
    """

    _rank = 1

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(int(size), None)

    def call(self, inputs: Any) -> Any:
        """Return the longer sequences."""
        return shaping.repeat_elements(inputs, self.size, axis=1)


@export("keras.layers.UpSampling2D")
class UpSampling2D(_UpSampling):
    """Larger images.

    Args:
      size: the factors of height and width.
      data_format: "channels_last" or "channels_first".
      interpolation: "nearest" or "bilinear".

    Raises:
      ValueError: for another interpolation.
    """

    _rank = 2

    def __init__(
        self,
        size: Any = (2, 2),
        data_format: str | None = None,
        interpolation: str = "nearest",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._take(normalize_tuple(size, 2, "size"), data_format)
        if interpolation not in {"nearest", "bilinear"}:
            raise ValueError(
                '`interpolation` argument should be one of `"nearest"` or `"bilinear"`.'
            )
        self.interpolation = interpolation

    def call(self, inputs: Any) -> Tensor:
        """Return the larger images."""
        height, width = self.size
        return shaping.resize_images(
            inputs, height, width, self.data_format, interpolation=self.interpolation
        )

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "interpolation": self.interpolation}


@export("keras.layers.UpSampling3D")
class UpSampling3D(_UpSampling):
    """Larger volumes.

    Args:
      size: the factors of the sizes.
      data_format: "channels_last" or "channels_first".
    """

    _rank = 3

    def __init__(
        self, size: Any = (2, 2, 2), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._take(normalize_tuple(size, 3, "size"), data_format)
        self.input_spec = None  # as in TensorFlow, which forgets what it has set

    def call(self, inputs: Any) -> Any:
        """Return the larger volumes."""
        depth, height, width = self.size
        return shaping.resize_volumes(inputs, depth, height, width, self.data_format)


_ORDINALS = ("1st", "2nd", "3rd")
_TWO = (
    "a tuple of 2 ints (symmetric_height_{0}, symmetric_width_{0}), or a tuple of 2 tuples of 2 "
    "ints ((top_{0}, bottom_{0}), (left_{0}, right_{0}))"
)
_THREE = (
    "a tuple of 3 ints (symmetric_dim1_{0}, symmetric_dim2_{0}, symmetric_dim3_{0}), or a tuple of "
    "3 tuples of 2 ints ((left_dim1_{0}, right_dim1_{0}), (left_dim2_{0}, right_dim2_{0}), "
    "(left_dim3_{0}, right_dim2_{0}))"
)
# By rank: how many parts an argument has, and what it may be.
_WORDS = {2: ("two elements", _TWO), 3: ("3 elements", _THREE)}


def _sides(value: Any, rank: int, name: str, short: str) -> tuple[Any, ...]:
    """((before, after), ...) for each dimension, of one number, or of one or two for each."""
    if isinstance(value, int):
        return ((value, value),) * rank
    count, forms = _WORDS[rank]
    if not hasattr(value, "__len__"):
        raise ValueError(f"`{name}` should be either an int, {forms.format(short)}. Found: {value}")
    if len(value) != rank:
        raise ValueError(f"`{name}` should have {count}. Found: {value}")
    return tuple(
        normalize_tuple(side, 2, f"{ordinal} entry of {name}")
        for side, ordinal in zip(value, _ORDINALS, strict=False)
    )


class _ZeroPadding(_Resizing):
    _argument = "padding"
    padding: Any

    def _new_size(self, size: int, i: int) -> int:
        return size + sum(self.padding if self._rank == 1 else self.padding[i])


@export("keras.layers.ZeroPadding1D")
class ZeroPadding1D(_ZeroPadding):
    """Zeros before and after sequences.

    Args:
      padding: how many; two numbers, or one for both.
    """

    _rank = 1

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(normalize_tuple(padding, 2, "padding"), None)

    def call(self, inputs: Any) -> Tensor:
        """Return the longer sequences."""
        return shaping.temporal_padding(inputs, padding=self.padding)


@export("keras.layers.ZeroPadding2D")
class ZeroPadding2D(_ZeroPadding):
    """Zeros around images.

    Args:
      padding: ((top, bottom), (left, right)), (height, width), or one number.
      data_format: "channels_last" or "channels_first".
    """

    _rank = 2

    def __init__(
        self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._take(_sides(padding, 2, "padding", "pad"), data_format)

    def call(self, inputs: Any) -> Tensor:
        """Return the larger images."""
        return shaping.spatial_2d_padding(
            inputs, padding=self.padding, data_format=self.data_format
        )


@export("keras.layers.ZeroPadding3D")
class ZeroPadding3D(_ZeroPadding):
    """Zeros around volumes.

    Args:
      padding: two numbers for each dimension, one for each, or one number.
      data_format: "channels_last" or "channels_first".
    """

    _rank = 3

    def __init__(
        self, padding: Any = (1, 1, 1), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._take(_sides(padding, 3, "padding", "pad"), data_format)

    def call(self, inputs: Any) -> Any:
        """Return the larger volumes."""
        return shaping.spatial_3d_padding(
            inputs, padding=self.padding, data_format=self.data_format
        )


class _Cropping(_Resizing):
    _argument = "cropping"
    cropping: Any

    @property
    def _cut(self) -> Any:
        return (self.cropping,) if self._rank == 1 else self.cropping

    def _new_size(self, size: int, i: int) -> int:
        return size - sum(self._cut[i])

    def call(self, inputs: Any) -> Any:
        """Return the cropped part."""
        full = [slice(None)] * self._first
        space = [slice(before, -after or None) for before, after in self._cut]
        back = [] if self.data_format == "channels_first" else [slice(None)]
        return inputs[tuple(full + space + back)]


@export("keras.layers.Cropping1D")
class Cropping1D(_Cropping):
    """Sequences without steps at both ends.

    Args:
      cropping: how many; two numbers, or one for both.
    """

    _rank = 1

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(normalize_tuple(cropping, 2, "cropping"), None)


@export("keras.layers.Cropping2D")
class Cropping2D(_Cropping):
    """Images without their edges.

    Args:
      cropping: ((top, bottom), (left, right)), (height, width), or one number.
      data_format: "channels_last" or "channels_first".
    """

    _rank = 2

    def __init__(
        self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._take(_sides(cropping, 2, "cropping", "crop"), data_format)


@export("keras.layers.Cropping3D")
class Cropping3D(_Cropping):
    """Volumes without their edges.

    Args:
      cropping: two numbers for each dimension, one for each, or one number.
      data_format: "channels_last" or "channels_first".
    """

    _rank = 3

    def __init__(
        self,
        cropping: Any = ((1, 1), (1, 1), (1, 1)),
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._take(_sides(cropping, 3, "cropping", "crop"), data_format)
