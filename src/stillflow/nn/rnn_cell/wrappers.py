"""Wrappers of cells: dropout, residual connections, placement on a device."""

from __future__ import annotations

import builtins
import marshal
import sys
import types
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow import nest
from stillflow.graph.api import device as device_
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.utils.objects import deserialize_keras_object
from stillflow.nn.rnn_cell.base import RNNCell, assert_like_rnncell
from stillflow.train.tracking.base import Trackable

if TYPE_CHECKING:
    from typing_extensions import Self

    class _Base:
        """Methods of the base class of a wrapper."""

        def get_config(self) -> dict[str, Any]: ...

        @classmethod
        def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self: ...

else:
    _Base = object


class Wrapping(_Base):
    """Wrappers' access to the cell inside, for any base class."""

    cell: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> Any:
        """Return the output and the next state; `cell_call_fn` calls the cell inside."""
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        return self.cell.state_size

    @property
    def output_size(self) -> int:
        return self.cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the zero state of the cell inside."""
        with self._zero_state_scope(batch_size):
            return self.cell.zero_state(batch_size, dtype)

    def _zero_state_scope(self, batch_size: Any) -> name_scope:
        return name_scope(type(self).__name__ + "ZeroState", values=[batch_size])

    def _config(self, **own: Any) -> dict[str, Any]:
        inside = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), "cell": inside, **own}


class CellWrapper(Wrapping, RNNCell):
    """A cell around another, `cell`, with the sizes and the zero state of that one."""

    def __init__(self, cell: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        assert_like_rnncell("cell", cell)
        self.cell = cell
        if isinstance(cell, Trackable):
            self._track_trackable(cell, name="cell")

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Any]:
        """Return the output and the next state; arguments as of `RNNCell`."""
        return self._call_wrapped_cell(inputs, state, cell_call_fn=self.cell.__call__, scope=scope)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """Return the wrapper with these arguments; `cell` must be a cell.

        Raises:
          ValueError: if it is none.
        """
        config = dict(config)
        cell = config.pop("cell")
        try:
            assert_like_rnncell("cell", cell)
        except TypeError:
            raise ValueError(
                "RNNCellWrapper cannot reconstruct the wrapped cell. Please overwrite the cell in "
                "the config with a RNNCell instance."
            ) from None
        return cls(cell, **config)


class Residual(Wrapping):
    """Wrapper that adds the inputs of a cell to its outputs.

    Args:
      cell: the cell.
      residual_fn: of the inputs and the outputs; their sum by default, for which they must have
        the same structure and shapes.
    """

    def __init__(self, cell: Any, residual_fn: Any = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> tuple[Tensor, Any]:
        outputs, new_state = cell_call_fn(inputs, state, **kwargs)
        return (self._residual_fn or _sum)(inputs, outputs), new_state

    def get_config(self) -> dict[str, Any]:
        if self._residual_fn is None:
            return self._config()
        keys = ("residual_fn", "residual_fn_type", "residule_fn_module")
        return self._config(**dict(zip(keys, function_to_config(self._residual_fn), strict=True)))

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        if "residual_fn" in config:
            config = dict(config)
            config["residual_fn"] = function_from_config(
                config, custom_objects, "residual_fn", "residual_fn_type", "residule_fn_module"
            )
        return super().from_config(config, custom_objects)


@export("nn.rnn_cell.ResidualWrapper", "contrib.rnn.ResidualWrapper")
class ResidualWrapper(Residual, CellWrapper):
    __doc__ = Residual.__doc__


def _sum(inputs: Any, outputs: Any) -> Tensor:
    nest.assert_same_structure(inputs, outputs)
    nest.map_structure(
        lambda x, y: x.get_shape().assert_is_compatible_with(y.get_shape()), inputs, outputs
    )
    return nest.map_structure(lambda x, y: x + y, inputs, outputs)


class OnDevice(Wrapping):
    """Places a cell on a device.

    Args:
      cell: the cell.
      device: a device or a function, as for `tf.device`.
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: Any, dtype: Any) -> Tensor:
        """Return the zero state of the cell inside, on the device."""
        with self._zero_state_scope(batch_size), device_(self._device):
            return self.cell.zero_state(batch_size, dtype)

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> Any:
        with device_(self._device):
            return cell_call_fn(inputs, state, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return self._config(device=self._device)


@export("nn.rnn_cell.DeviceWrapper", "contrib.rnn.DeviceWrapper")
class DeviceWrapper(OnDevice, CellWrapper):
    __doc__ = OnDevice.__doc__


def function_to_config(function: Any) -> tuple[Any, str, str]:
    """Return a function as data, the kind of data, and the function's module."""
    if isinstance(function, types.FunctionType):
        code = marshal.dumps(function.__code__).hex()
        cells = function.__closure__ and tuple(cell.cell_contents for cell in function.__closure__)
        return (code, function.__defaults__, cells), "lambda", function.__module__
    if callable(function):
        return function.__name__, "function", function.__module__
    raise ValueError(f"Unrecognized function type for input: {type(function)}")


def function_from_config(
    config: dict[str, Any], custom_objects: Any, key: str, kind_key: str, module_key: str
) -> Any:
    """Return the function that `function_to_config` made data of; remove its kind and module."""
    module, kind = config.pop(module_key, None), config.pop(kind_key)
    names = dict(vars(sys.modules[module])) if module in sys.modules else {}
    if module is not None and module not in sys.modules:
        warnings.warn(
            f"{module} is not loaded, but a layer uses it. It may cause errors.",
            UserWarning, stacklevel=2,
        )  # fmt: skip
    names.update(custom_objects or {})
    if kind == "function":
        return deserialize_keras_object(
            config[key], module_objects=names, printable_module_name="function in wrapper"
        )
    if kind != "lambda":
        raise TypeError("Unknown function type:", kind)
    if not isinstance(config[key], (list, tuple)):
        return config[key]
    code, defaults, values = config[key]
    closure = None if values is None else tuple(types.CellType(value) for value in values)
    names.setdefault("__builtins__", builtins)
    return types.FunctionType(
        marshal.loads(bytes.fromhex(code)), names, "<lambda>", defaults, closure
    )
