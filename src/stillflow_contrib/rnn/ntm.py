"""Neural Turing machines (Graves et al., 2014): a cell with a memory that it addresses."""

from __future__ import annotations

import collections
import math
from typing import Any

import stillflow as tf
from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.nn.rnn_cell.base import LayerRNNCell, assert_like_rnncell

NTMControllerState = collections.namedtuple(
    "NTMControllerState", ("controller_state", "read_vector_list", "w_list", "M", "time")
)


class NTMCell(LayerRNNCell):
    """A cell that reads from and writes to a memory.

    Args:
      controller: the cell that decides what to read and write.
      memory_size: how many rows the memory has.
      memory_vector_dim: how long they are.
      read_head_num, write_head_num: at how many places a step reads and writes.
      shift_range: how far a head moves in a step.
      output_dim: the size of the output; that of the input by default.
      clip_value: how large parameters and outputs become.
      dtype: of the variables.
      name: of the cell.

    Raises:
      TypeError: if the controller is no cell.
    """

    def __init__(
        self,
        controller: Any,
        memory_size: int,
        memory_vector_dim: int,
        read_head_num: int,
        write_head_num: int,
        shift_range: int = 1,
        output_dim: int | None = None,
        clip_value: float = 20,
        dtype: Any = dtypes.float32,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        assert_like_rnncell("NTM RNN controller cell", controller)
        self.controller = controller
        self.memory_size, self.memory_vector_dim = memory_size, memory_vector_dim
        self.read_head_num, self.write_head_num = read_head_num, write_head_num
        self.shift_range, self.clip_value, self.output_dim = shift_range, clip_value, output_dim
        self.num_heads = read_head_num + write_head_num
        self.num_parameters_per_head = memory_vector_dim + 2 * shift_range + 4
        self.total_parameter_num = (
            self.num_parameters_per_head * self.num_heads + memory_vector_dim * 2 * write_head_num
        )

    @property
    def state_size(self) -> Any:
        rows, width = self.memory_size, self.memory_vector_dim
        return NTMControllerState(
            controller_state=self.controller.state_size,
            read_vector_list=[width] * self.read_head_num,
            w_list=[rows] * self.num_heads,
            M=TensorShape([rows * width]),
            time=TensorShape([]),
        )

    @property
    def output_size(self) -> int | None:
        return self.output_dim

    def build(self, inputs_shape: Any) -> None:
        shape = TensorShape(inputs_shape)
        if self.output_dim is None:
            self.output_dim = shape.dims[1].value
            if self.output_dim is None:
                raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {shape}")
        given, width = self.controller.output_size, self.memory_vector_dim
        zeros = tf.constant_initializer(0.0, dtype=self.dtype)
        glorot = tf.glorot_uniform_initializer()

        def affine(name: str, rows: int, columns: int) -> tuple[Any, Any]:
            spread = tf.truncated_normal_initializer(
                stddev=1.0 / math.sqrt(rows), dtype=dtypes.float32
            )
            kernel = self.add_weight(f"{name}_kernel", shape=[rows, columns], initializer=spread)
            return kernel, self.add_weight(f"{name}_bias", shape=[columns], initializer=zeros)

        self._params = affine("parameters", given, self.total_parameter_num)
        self._output = affine("output", given + width * self.read_head_num, self.output_dim)
        self._first_reads = [
            self.add_weight(f"initial_read_vector_{i}", shape=[1, width], initializer=glorot)
            for i in range(self.read_head_num)
        ]
        self._first_addresses = [
            self.add_weight(
                f"initial_address_weights_{i}", shape=[1, self.memory_size], initializer=glorot
            )
            for i in range(self.num_heads)
        ]
        filled = tf.constant_initializer(1e-6, dtype=self.dtype)
        self._memory = self.add_weight(
            "memory", shape=[self.memory_size, width], initializer=filled
        )
        self.built = True

    def call(self, x: Any, prev_state: Any) -> tuple[Tensor, Any]:
        batch = dimension_value(x.shape[0]) or tf.shape(x)[0]
        reads = self._from_the_start(
            prev_state.time, tf.tanh, self._first_reads, prev_state.read_vector_list, batch
        )
        output, state = self.controller(tf.concat([x, *reads], axis=1), prev_state.controller_state)
        parameters = self._clipped(output, self._params)
        of_heads = self.num_parameters_per_head * self.num_heads
        heads = tf.split(parameters[:, :of_heads], self.num_heads, axis=1)
        changes = tf.split(parameters[:, of_heads:], 2 * self.write_head_num, axis=1)
        addresses = self._from_the_start(
            prev_state.time, tf.nn.softmax, self._first_addresses, prev_state.w_list, batch
        )
        memory = tf.cond(
            tf.equal(prev_state.time, 0),
            lambda: _repeated(self._memory, batch),
            lambda: prev_state.M,
        )
        addresses = [
            self._addressed(head, memory, address)
            for head, address in zip(heads, addresses, strict=True)
        ]
        reads = [
            tf.reduce_sum(tf.expand_dims(address, axis=2) * memory, axis=1)
            for address in addresses[: self.read_head_num]
        ]
        for i, address in enumerate(addresses[self.read_head_num :]):
            memory = _written(memory, address, changes[2 * i], changes[2 * i + 1])
        output = self._clipped(tf.concat([output, *reads], axis=1), self._output)
        return output, NTMControllerState(state, reads, addresses, memory, prev_state.time + 1)

    def _clipped(self, inputs: Any, weights: tuple[Any, Any]) -> Tensor:
        made = tf.nn.bias_add(tf.matmul(inputs, weights[0]), weights[1])
        return tf.clip_by_value(made, -self.clip_value, self.clip_value)

    def _from_the_start(
        self, time: Any, activation: Any, variables: list[Any], later: list[Any], batch: Any
    ) -> list[Any]:
        """Return the values of variables in the first step, and `later` in later ones."""

        def first() -> list[Any]:
            rows = [
                activation(tf.squeeze(tf.matmul(tf.ones([1, 1]), variable)))
                for variable in variables
            ]
            return [_repeated(row, batch) for row in rows]

        made = tf.cond(tf.equal(time, 0), first, lambda: later)
        return made if len(variables) > 1 else [made]

    def _addressed(self, head: Any, memory: Any, before: Any) -> Tensor:
        """Return a head's address: by content, from the previous one, shifted and sharpened."""
        width, moves = self.memory_vector_dim, 2 * self.shift_range + 1
        key = tf.tanh(head[:, 0:width])
        strength = tf.nn.softplus(head[:, width])
        gate = tf.expand_dims(tf.sigmoid(head[:, width + 1]), axis=1)
        shifts = tf.nn.softmax(head[:, width + 2 : width + 2 + moves])
        sharpness = tf.nn.softplus(head[:, -1]) + 1
        by_content = tf.exp(tf.expand_dims(strength, axis=1) * _similarity(memory, key))
        by_content = by_content / tf.reduce_sum(by_content, axis=1, keepdims=True)
        address = gate * by_content + (1 - gate) * before
        address = tf.reduce_sum(tf.expand_dims(address, axis=1) * self._moved(shifts), axis=2)
        sharp = tf.pow(address, tf.expand_dims(sharpness, axis=1))
        return sharp / tf.reduce_sum(sharp, axis=1, keepdims=True)

    def _moved(self, shifts: Any) -> Tensor:
        """Return the matrices that move addresses, around the end of the memory."""
        rows, reach = self.memory_size, self.shift_range
        batch = dimension_value(shifts.shape[0]) or tf.shape(shifts)[0]
        middle = tf.zeros([batch, rows - (2 * reach + 1)])
        around = tf.concat([shifts[:, : reach + 1], middle, shifts[:, -reach:]], axis=1)
        twice = tf.concat([tf.reverse(around, axis=[1]), tf.reverse(around, axis=[1])], axis=1)
        return tf.stack([twice[:, rows - i - 1 : rows * 2 - i - 1] for i in range(rows)], axis=1)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros; the first step puts learned values in their place."""
        rows, width = self.memory_size, self.memory_vector_dim
        reads = [tf.zeros([batch_size, width]) for _ in range(self.read_head_num)]
        addresses = [tf.zeros([batch_size, rows]) for _ in range(self.num_heads)]
        state = self.controller.zero_state(batch_size, dtype)
        memory = tf.zeros([batch_size, rows, width])
        return NTMControllerState(state, reads, addresses, memory, 0)


def _repeated(value: Any, count: Any) -> Tensor:
    return tf.concat([tf.expand_dims(value, 0) for _ in range(count)], axis=0)


def _similarity(memory: Any, key: Any) -> Tensor:
    """Return the cosine between the key and each row."""
    column = tf.expand_dims(key, axis=2)
    products = tf.matmul(memory, column)
    of_key, of_rows = (
        tf.sqrt(tf.reduce_sum(tf.square(vectors), axis=axis, keepdims=True))
        for vectors, axis in ((column, 1), (memory, 2))
    )
    return tf.squeeze(products / (of_rows * of_key + 1e-8))


def _written(memory: Any, address: Any, erased: Any, added: Any) -> Tensor:
    """Return the memory after a head has written to it."""
    where = tf.expand_dims(address, axis=2)
    erased = tf.expand_dims(tf.sigmoid(erased), axis=1)
    added = tf.expand_dims(tf.tanh(added), axis=1)
    kept = tf.ones_like(memory) - tf.matmul(where, erased)
    return memory * kept + tf.matmul(where, added)
