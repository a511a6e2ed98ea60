"""Base of cells of recurrent layers, and stacked cells."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export, redefinable
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.control import in_train_phase
from stillflow.keras.backend.random import dropout as dropped
from stillflow.keras.layers.recurrent.states import (
    output_size_of,
    sizes_of,
    takes,
    zero_states_of,
)
from stillflow.layers.base_layer import Layer
from stillflow.layers.identifiers import (
    activation_of,
    constraint_of,
    initializer_of,
    regularizer_of,
    serialized,
)
from stillflow.platform import tf_logging as logging

if TYPE_CHECKING:
    from stillflow.train.tracking.wrappers import ListWrapper


_ROLES = ("kernel", "recurrent", "bias")


@export("keras.layers.AbstractRNNCell")
class AbstractRNNCell(Layer):
    """The base of a program's own cells; a subclass defines `call` and both sizes."""

    @redefinable
    def call(self, inputs: Any, states: Any) -> tuple[Any, Any]:
        """(output, new states)."""
        raise NotImplementedError("Abstract method")

    @property
    def state_size(self) -> Any:
        """The sizes of the states."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Tensor | list[Tensor]:
        """Zeros."""
        return zero_states_of(self, inputs, batch_size, dtype)


class DropoutRNNCellMixin:
    """Masks of dropout that are the same in all steps.

    Those of steps that run when they are called are kept apart from those of graphs.
    """

    dropout: float
    recurrent_dropout: float

    def reset_dropout_mask(self) -> None:
        """Forget the mask of inputs."""
        self._forget("_dropout_mask")

    def reset_recurrent_dropout_mask(self) -> None:
        """Forget the mask of states."""
        self._forget("_recurrent_dropout_mask")

    def _forget(self, name: str) -> None:
        self.__dict__[name] = self.__dict__[f"_eager{name}"] = None

    def get_dropout_mask_for_cell(
        self, inputs: Any, training: Any, count: int = 1
    ) -> list[Tensor] | None:
        """Return the mask of inputs, or a list of `count` of them; None for no dropout."""
        return self._mask("_dropout_mask", self.dropout, inputs, training, count)

    def get_recurrent_dropout_mask_for_cell(
        self, inputs: Any, training: Any, count: int = 1
    ) -> list[Tensor] | None:
        """Return the mask of states, or a list of `count` of them; None for no dropout."""
        return self._mask(
            "_recurrent_dropout_mask", self.recurrent_dropout, inputs, training, count
        )

    def _mask(
        self, name: str, rate: float, inputs: Any, training: Any, count: int
    ) -> list[Tensor] | None:
        if rate == 0:
            return None
        if tf.executing_eagerly():
            name = f"_eager{name}"
        if self.__dict__.get(name) is None:  # past the tracking of attributes: these are tensors
            ones = tf.ones_like(inputs)
            masks = [
                in_train_phase(lambda: dropped(ones, rate), ones, training=training)
                for _ in range(count)
            ]
            self.__dict__[name] = masks if count > 1 else masks[0]
        return self.__dict__[name]


_RESOLVE = {
    "initializer": initializer_of, "regularizer": regularizer_of, "constraint": constraint_of,
}  # fmt: skip


class WithKernels(Layer):
    """A layer with a kernel for inputs, one for states, and a bias.

    Args:
      units: the size of the output and of each state.
      ..._initializer, ..._regularizer, ..._constraint: of the variables.
    """

    kernel_initializer: Any
    bias_initializer: Any

    def __init__(self, units: int, **kwargs: Any) -> None:
        roles = [(role, kind) for kind in _RESOLVE for role in _ROLES]
        given = {pair: kwargs.pop(f"{pair[0]}_{pair[1]}") for pair in roles}
        super().__init__(**kwargs)
        self.units = units
        for (role, kind), value in given.items():
            setattr(self, f"{role}_{kind}", _RESOLVE[kind](value))

    def _add(self, name: str, shape: tuple[Any, ...], initializer: Any = None) -> Any:
        """Return a variable; its role is the first part of its name."""
        role = name.removesuffix("_kernel")
        return self.add_weight(
            shape=shape, name=name, initializer=initializer or getattr(self, f"{role}_initializer"),
            regularizer=getattr(self, f"{role}_regularizer"),
            constraint=getattr(self, f"{role}_constraint"),
        )  # fmt: skip

    def _add_kernels(self, input_shape: Any, gates: int = 1) -> None:
        features = TensorShape(input_shape).as_list()[-1]
        self.kernel = self._add("kernel", (features, self.units * gates))
        self.recurrent_kernel = self._add("recurrent_kernel", (self.units, self.units * gates))

    def kernels_config(self) -> dict[str, Any]:
        """Return the constructor's arguments that tell of the variables."""
        names = [(f"{role}_{kind}", kind) for kind in _RESOLVE for role in _ROLES]
        return {name: serialized(f"{kind}s", getattr(self, name)) for name, kind in names}


class StandardCell(DropoutRNNCellMixin, WithKernels):
    """A cell with a kernel for inputs, one for states, and a bias.

    Args:
      units: the size of the output and of each state.
      activation: of the output.
      use_bias: whether there is a bias.
      dropout, recurrent_dropout: the parts of inputs and states that are dropped.
      others: see `WithKernels`.
    """

    state_size: Any

    def __init__(
        self,
        units: int,
        activation: Any,
        use_bias: bool,
        dropout: float,
        recurrent_dropout: float,
        **kwargs: Any,
    ) -> None:
        super().__init__(units=units, **kwargs)
        self.activation, self.use_bias = activation_of(activation), use_bias
        self.dropout, self.recurrent_dropout = (
            min(1.0, max(0.0, part)) for part in (dropout, recurrent_dropout)
        )
        self.state_size = self.output_size = units

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Tensor | list[Tensor]:
        """Zeros."""
        return zero_states_of(self, inputs, batch_size, dtype)

    # The constructor's arguments in addition to those above.
    _own_config: tuple[str, ...] = ()

    def cell_config(self) -> dict[str, Any]:
        """Return the constructor's arguments, without those of every layer."""
        config: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("units", "use_bias", "dropout", "recurrent_dropout", *self._own_config)
        }
        config["activation"] = serialized("activations", self.activation)
        if hasattr(self, "recurrent_activation"):
            config["recurrent_activation"] = serialized("activations", self.recurrent_activation)
        return {**config, **self.kernels_config()}

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), **self.cell_config()}


@export("keras.layers.StackedRNNCells")
class StackedRNNCells(Layer):
    """Cells one after another, each of which takes the output of the one before.

    Args:
      cells: a list of cells.
      reverse_state_order: whether the last cell's states come first.

    Raises:
      ValueError: if one is no cell.
    """

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        required = {"call": "method", "state_size": "attribute"}
        for cell, (attribute, kind) in itertools.product(cells, required.items()):
            if not hasattr(cell, attribute):
                message = f"All cells must have a `{attribute}` {kind}. received cells:"
                raise ValueError(message, cells)
        is_reversed = kwargs.pop("reverse_state_order", False)
        self.cells, self.reverse_state_order = cells, is_reversed
        if is_reversed:
            logging.warning(
                "reverse_state_order=True in StackedRNNCells will soon be deprecated. Please "
                "update the code to work with the natural order of states if you rely on the RNN "
                "states, eg RNN(return_state=True)."
            )
        super().__init__(**kwargs)

    @property
    def _in_state_order(self) -> ListWrapper:
        return self.cells[::-1] if self.reverse_state_order else self.cells

    @property
    def state_size(self) -> tuple[Any, ...]:
        """The sizes of the states of each cell."""
        return tuple(cell.state_size for cell in self._in_state_order)

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return output_size_of(self.cells[-1])

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> tuple[Any, ...]:
        """Return the initial states of each cell."""
        given = {"inputs": inputs, "batch_size": batch_size, "dtype": dtype}
        return tuple([
            (getattr(cell, "get_initial_state", None) or partial(zero_states_of, cell))(**given)
            for cell in self._in_state_order
        ])  # fmt: skip

    def call(
        self, inputs: Any, states: Any, constants: Any = None, **kwargs: Any
    ) -> tuple[Tensor, tuple[Any, Tensor]]:
        """(output, new states)."""
        sizes = self.state_size[::-1] if self.reverse_state_order else self.state_size
        nested = nest.pack_sequence_as(sizes, nest.flatten(states))
        new_states = []
        for cell, own in zip(self.cells, nested, strict=True):
            own = own if nest.is_sequence(own) else [own]
            if len(own) == 1 and getattr(cell, "_is_tf_rnn_cell", None) is not None:
                own = own[0]
            more = {"constants": constants} if takes(cell, "constants") else {}
            inputs, own = cell.call(inputs, own, **more, **kwargs)
            new_states.append(own)
        return inputs, nest.pack_sequence_as(sizes, nest.flatten(new_states))

    def build(self, input_shape: Any) -> None:
        """Build the cells."""
        if isinstance(input_shape, list) and not all(
            size is None or isinstance(size, int) for size in input_shape
        ):
            input_shape = input_shape[0]
        shape = tuple(TensorShape(input_shape).as_list())
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build(shape)
            shape = (shape[0], *sizes_of(output_size_of(cell)))
        self.built = True

    def get_config(self) -> dict[str, Any]:
        """Return the cells."""
        cells = [
            {"class_name": type(cell).__name__, "config": cell.get_config()} for cell in self.cells
        ]
        return {**super().get_config(), "cells": cells}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> StackedRNNCells:
        """Return the cells that `get_config` made `config` of."""
        from stillflow.keras.layers.serialization import deserialize

        rest = dict(config)
        cells = [deserialize(cell, custom_objects=custom_objects) for cell in rest.pop("cells")]
        return cls(cells, **rest)
