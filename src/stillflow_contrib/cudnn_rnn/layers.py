"""Layers that are whole recurrent networks, with all their weights in one variable."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.layers.base import Layer
from stillflow.layers.input_spec import InputSpec
from stillflow.ops.recurrent.cudnn_layout import Layout
from stillflow.platform import tf_logging as logging
from stillflow.variables.variable_scope import get_variable_scope
from stillflow_contrib.cudnn_rnn import saveables
from stillflow_contrib.cudnn_rnn.modes import (
    CUDNN_GRU,
    CUDNN_INPUT_LINEAR_MODE,
    CUDNN_LSTM,
    CUDNN_RNN_RELU,
    CUDNN_RNN_TANH,
    CUDNN_RNN_UNIDIRECTION,
    PARAMS_PER_LAYER,
    check_direction,
    check_input_mode,
    directions_of,
)
from stillflow_contrib.cudnn_rnn.networks import cudnn_rnn, cudnn_rnn_canonical_to_opaque_params

_DTYPES = (dtypes.float16, dtypes.float32, dtypes.float64)


class _CudnnRNN(Layer):
    """A recurrent network of several layers.

    Its weights stand in one variable, but checkpoints have those of cells that compute the same.

    Args:
      num_layers: how many layers it has.
      num_units: their size.
      input_mode: how the first layer takes the input.
      direction: "unidirectional" or "bidirectional".
      dropout: which share of a layer's output is dropped before the next, in training.
      seed: of the dropout.
      dtype: of the weights.
      kernel_initializer, bias_initializer: of the weights and biases of each gate; Glorot's uniform
        distribution and 0 by default.
      name: of the layer.

    Raises:
      ValueError: if a mode, direction or type is not one of these.
    """

    _rnn_mode: str
    _saveable_cls: type[saveables.CudnnOpaqueParamsSaveable]

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = CUDNN_INPUT_LINEAR_MODE,
        direction: str = CUDNN_RNN_UNIDIRECTION,
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = dtypes.float32,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        check_direction(direction)
        check_input_mode(input_mode)
        if dtype not in _DTYPES:
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        self._plain_dtype = dtypes.as_dtype(dtype)
        self._num_layers, self._num_units = num_layers, num_units
        self._input_mode, self._direction = input_mode, direction
        self._dropout, self._seed = dropout, seed
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer
        self._input_size: int | None = None
        self._saveable: Any = None

    num_layers = property(lambda self: self._num_layers, doc="The number of layers.")
    num_units = property(lambda self: self._num_units, doc="The size of its layers.")
    input_mode = property(lambda self: self._input_mode, doc="How it takes the input.")
    rnn_mode = property(lambda self: self._rnn_mode, doc="What kind of network it is.")
    direction = property(lambda self: self._direction, doc="In which directions it reads.")
    num_dirs = property(lambda self: directions_of(self._direction), doc="The number of these.")
    saveable = property(lambda self: self._saveable, doc="What checkpoints hold of it.")

    @property
    def input_size(self) -> int:
        """The size of the input.

        Raises:
          ValueError: before the layer is built.
        """
        if not self._input_size:
            raise ValueError("'input_size' is unknown since layer has not been built.")
        return self._input_size

    @property
    def canonical_weight_shapes(self) -> list[tuple[int, int]]:
        """The shapes of the weights of all layers, gate by gate.

        Raises:
          RuntimeError: before the size of the input is known.
        """
        if not self._input_size:
            raise RuntimeError(
                f"{type(self).__name__}.canonical_weight_shapes invoked before input shape is known"
            )
        layout = Layout(
            self._rnn_mode, self._num_layers, self._num_units, self._input_size, self.num_dirs
        )
        return [shape for part in range(layout.parts) for shape in layout.weights(part)]

    @property
    def canonical_bias_shapes(self) -> list[list[int]]:
        """The shapes of the biases of all layers, gate by gate."""
        count = self._num_layers * self.num_dirs * PARAMS_PER_LAYER[self._rnn_mode]
        return [[self._num_units] for _ in range(count)]

    def build(self, input_shape: Any) -> None:
        """Make the variable.

        Raises:
          ValueError: if the input has not three dimensions, the last of them known.
        """
        if self.built:
            return
        shape = TensorShape(input_shape)
        if shape.ndims != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {shape.ndims}")
        if shape.dims[-1].value is None:
            raise ValueError(
                "The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`."
            )
        self._input_size = shape.dims[-1].value
        self.input_spec = InputSpec(ndim=3, axes={-1: self._input_size})
        self._set_scope(None)
        with tf.variable_scope(self._scope, reuse=self.built, custom_getter=self._tracking):
            params = self._initial_params()
            if get_variable_scope().partitioner is not None:
                logging.warn(
                    "Partitioner is not supported for Cudnn RNN layer variables, using it will "
                    "create forward-compatibility issues with future CUDA/CuDNN generations."
                )
            self.kernel = tf.get_variable(
                "opaque_kernel", dtype=self._plain_dtype, initializer=params, validate_shape=False
            )
        if not (self.built or get_variable_scope().reuse is True):
            self._create_saveable()
        self.built = True

    def _tracking(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        variable = getter(*args, **kwargs)
        trained = kwargs.get("trainable", True)
        mine = self._trainable_weights if trained else self._non_trainable_weights
        if not any(variable is other for other in mine):
            mine.append(variable)
        return variable

    def _initial_params(self) -> Tensor:
        if self._kernel_initializer is None:
            self._kernel_initializer = tf.glorot_uniform_initializer(
                seed=self._seed, dtype=self._plain_dtype
            )
        if self._bias_initializer is None:
            self._bias_initializer = tf.constant_initializer(0.0, dtype=self._plain_dtype)
        kind = self._plain_dtype
        weights = [self._kernel_initializer(s, dtype=kind) for s in self.canonical_weight_shapes]
        biases = [self._bias_initializer(s, dtype=kind) for s in self.canonical_bias_shapes]
        with tf.device("/gpu:0"):
            return cudnn_rnn_canonical_to_opaque_params(
                self._rnn_mode, self._num_layers, self._num_units, self.input_size, weights, biases,
                input_mode=self._input_mode, direction=self._direction, dropout=self._dropout,
                seed=self._seed,
            )  # fmt: skip

    def _create_saveable(self) -> None:
        if self._saveable is not None:
            raise RuntimeError("Cudnn saveable already created.")
        variable = self.trainable_variables[0]
        self._saveable = self._saveable_cls(
            opaque_params=variable, num_layers=self.num_layers, num_units=self.num_units,
            input_size=self.input_size, input_mode=self.input_mode, direction=self.direction,
            scope=get_variable_scope(), name=f"{variable.name.split(':')[0]}_saveable",
        )  # fmt: skip
        _ = variable[0]  # a node of TensorFlow's graph, which asks it for its device
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: bool = True,
    ) -> tuple[Any, tuple[Any, ...]]:
        """Run the network.

        Args:
          inputs: [time, batch, input size], or [batch, time, ...] if not `time_major`.
          initial_state: a tuple of the states to begin with, each [layers * directions, batch,
            units] (or the batch first); zeros by default.
          sequence_lengths: int32 [batch]; all are of full length if None.
          time_major: whether the time comes first.
          training: whether it drops out, and can be differentiated.

        Returns:
          The outputs, and a tuple of the last states.

        Raises:
          TypeError: if `initial_state` is no tuple.
        """
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        dtype = self.dtype
        inputs = tf.convert_to_tensor(inputs, dtype=dtype)
        batch = tf.shape(inputs)[1]
        if initial_state is None:
            initial_state = self._zero_state(batch)
        states = [tf.convert_to_tensor(state, dtype=dtype) for state in initial_state]
        if len(states) == 1:
            states.append(tf.constant([], dtype=dtype))
        h, c = states
        outputs, *last = cudnn_rnn(
            inputs, h, c, self.kernel, training, self._rnn_mode,
            sequence_lengths=sequence_lengths, time_major=time_major, input_mode=self._input_mode,
            direction=self._direction, dropout=self._dropout, seed=self._seed,
        )  # fmt: skip
        return outputs, tuple(last[: len(initial_state)])

    def state_shape(self, batch_size: Any) -> tuple[Any, ...]:
        """Return the shapes of the states."""
        raise NotImplementedError

    def _zero_state(self, batch_size: Any) -> tuple[Any, ...]:
        return tuple(tf.zeros(shape, dtype=self.dtype) for shape in self.state_shape(batch_size))

    def _one_shape(self, batch_size: Any) -> list[Any]:
        return [self.num_layers * self.num_dirs, batch_size, self.num_units]


@export("contrib.cudnn_rnn.CudnnLSTM")
class CudnnLSTM(_CudnnRNN):
    """An LSTM; its states are h and c. See `_CudnnRNN` for the arguments."""

    _rnn_mode = CUDNN_LSTM
    _saveable_cls = saveables.CudnnLSTMSaveable

    def state_shape(self, batch_size: Any) -> tuple[Any, ...]:
        return self._one_shape(batch_size), self._one_shape(batch_size)


class _CudnnRNNNoInputC(_CudnnRNN):
    def state_shape(self, batch_size: Any) -> tuple[Any, ...]:
        return (self._one_shape(batch_size),)


@export("contrib.cudnn_rnn.CudnnGRU")
class CudnnGRU(_CudnnRNNNoInputC):
    """Gated recurrent units. See `_CudnnRNN` for the arguments."""

    _rnn_mode = CUDNN_GRU
    _saveable_cls = saveables.CudnnGRUSaveable


@export("contrib.cudnn_rnn.CudnnRNNTanh")
class CudnnRNNTanh(_CudnnRNNNoInputC):
    """Plain units with a hyperbolic tangent. See `_CudnnRNN` for the arguments."""

    _rnn_mode = CUDNN_RNN_TANH
    _saveable_cls = saveables.CudnnRNNTanhSaveable


@export("contrib.cudnn_rnn.CudnnRNNRelu")
class CudnnRNNRelu(_CudnnRNNNoInputC):
    """Plain units that are rectified. See `_CudnnRNN` for the arguments."""

    _rnn_mode = CUDNN_RNN_RELU
    _saveable_cls = saveables.CudnnRNNReluSaveable
