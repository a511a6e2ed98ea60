"""Random arguments of an operation, by its signature and by the samples of its card."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.differential.operation_cases import CHANGES
from tests.differential.variations import NUMPY_TYPES, SPECIAL
from tests.ops.sampling import arrays_of

import stillflow as tf
from stillflow.functional import defun as function
from stillflow.graph.card import Card
from stillflow.graph.signature import Arg, Attr
from stillflow.ops.samples import Sample

SIZES = (0, 1, 1, 2, 2, 3, 4)
INTEGERS = (0, 1, 2, 3, -1, -2, 7, 63, 255, 2**31 - 1, -(2**31))
LONG_INTEGERS = (2**31, 2**40, 2**63 - 1, -(2**63))
FLOATS = (0.0, 1.0, -1.0, 0.5, 2.0, 1e10, float("nan"), float("inf"))
TEXTS = ("", "x", "NHWC", "NCHW", "SAME", "VALID", "a\x00b", "ä", "float32")
# What kinds of handles there are: a function that makes one.
HANDLES: dict[str, Callable[[], Any]] = {
    "variable": lambda: tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2]),
    "table": lambda: tf.raw_ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64),
    "queue": lambda: tf.raw_ops.FIFOQueueV2(component_types=[tf.float32]),
    "iterator": lambda: tf.raw_ops.IteratorV2(
        shared_name="", container="", output_types=[tf.int64], output_shapes=[[]]
    ),
    "stack": lambda: tf.raw_ops.StackV2(max_size=2, elem_type=tf.float32),
    "array": lambda: tf.raw_ops.TensorArrayV3(size=2, dtype=tf.float32).handle,
    "barrier": lambda: tf.raw_ops.SummaryWriter(),
    "fed": lambda: tf.placeholder(tf.resource),
}
VARIANTS: dict[str, Callable[[], Any]] = {
    "list": lambda: tf.raw_ops.TensorListReserve(
        element_shape=tf.constant([2]), num_elements=2, element_dtype=tf.float32
    ),
    "dataset": lambda: tf.data.Dataset.range(3)._variant_tensor,
    "optional": lambda: tf.raw_ops.OptionalNone(),
    "fed": lambda: tf.placeholder(tf.variant),
}


class Arguments:
    """The arguments of one call.

    Attributes:
      inputs: for each argument an array, a function that makes a tensor, or a list of these.
      attrs: the attributes by name.
      known: whether the graph knows the arrays' values, or only their types.
      types: the types of the type attributes.
    """

    def __init__(self, rng: random.Random, card: Card) -> None:
        self.rng, self.card = rng, card
        self.attrs: dict[str, Any] = {}
        self.types: dict[str, Any] = {}
        self.known = rng.random() < 0.4
        self.inputs = self._from_sample() or self._anything()

    def _from_sample(self) -> list[Any] | None:
        """Return a sample with some changes; None where there is none, or now and then."""
        if self.card.samples_part is None or self.rng.random() < 0.3:
            return None
        samples = [s for s in self.card.samples_part() if isinstance(s, Sample)]
        if not samples:
            return None
        sample = self.rng.choice(samples)
        inputs = arrays_of(self.card, sample)
        self.attrs.update(sample.attrs)
        attrs = dict(sample.attrs)
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            before = list(inputs)
            try:
                CHANGES[self.rng.choice(sorted(CHANGES))](self.rng, self.card, inputs, attrs)
            except (ValueError, TypeError, OverflowError, KeyError):  # of a type of its own
                inputs = before
        for name, value in attrs.items():
            if name in self.attrs and isinstance(value, tuple):
                continue  # a type or shape written as plain data; the sample's own stays
            self.attrs[name] = value
        return inputs

    def _anything(self) -> list[Any]:
        self.attrs.clear()
        signature = self.card.signature
        lists: dict[str, list[Any]] = {}
        for name, attr in signature.attrs.items():
            if attr.kind == "type":
                self.types[name] = self._type(attr)
            elif attr.kind == "list(type)":
                lists[name] = [self._type(attr) for _ in range(self.rng.choice([0, 1, 2, 3]))]
        counts = {name: self.rng.choice([0, 1, 2, 3]) for name, attr in signature.attrs.items()}
        self.shape = self._shape()
        inputs = [self._argument(arg, lists, counts) for arg in signature.inputs]
        told = {a for arg in signature.inputs
                for a in (arg.type_attr, arg.type_list_attr, arg.number_attr)}  # fmt: skip
        for name, attr in signature.attrs.items():
            if name in told:
                continue
            if name in self.types:
                self.attrs[name] = self.types[name]
            elif name in lists:
                self.attrs[name] = lists[name]
            elif not attr.has_default or self.rng.random() < 0.5:
                self.attrs[name] = self._attribute(attr)
        return inputs

    def _type(self, attr: Attr) -> Any:
        allowed = attr.allowed or [tf.as_dtype(name) for name in NUMPY_TYPES]
        return self.rng.choice(list(allowed))

    def _argument(self, arg: Arg, lists: dict[str, list[Any]], counts: dict[str, int]) -> Any:
        if arg.type_list_attr is not None:
            return [self._value(dtype, arg) for dtype in lists[arg.type_list_attr]]
        dtype = arg.dtype or self.types[arg.type_attr]
        if arg.number_attr is not None:
            return [self._value(dtype, arg) for _ in range(counts[arg.number_attr])]
        return self._value(dtype, arg)

    def _value(self, dtype: Any, arg: Arg) -> Any:
        if arg.is_ref:
            return lambda: _variable(dtype)
        if dtype == tf.resource:
            return HANDLES[self.rng.choice(sorted(HANDLES))]
        if dtype == tf.variant:
            return VARIANTS[self.rng.choice(sorted(VARIANTS))]
        shape = self.shape if self.rng.random() < 0.5 else self._shape()
        return self._array(dtype, shape)

    def _shape(self) -> tuple[int, ...]:
        return tuple(
            self.rng.choice(SIZES) for _ in range(self.rng.choice([0, 0, 1, 1, 2, 3, 4, 5]))
        )

    def _array(self, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
        kind = np.dtype(dtype.as_numpy_dtype).kind if dtype != tf.string else "O"
        count = int(np.prod(shape, dtype=np.int64))
        wild = self.rng.random() < 0.3
        array = np.empty(count, object if kind == "O" else dtype.as_numpy_dtype)
        for i in range(count):
            array[i] = self._element(kind, array.dtype, wild)
        return array.reshape(shape)

    def _element(self, kind: str, dtype: Any, wild: bool) -> Any:
        if kind in "iu" or kind == "V":
            if not wild:
                return self.rng.choice([0, 1, 2, 3])
            try:
                limits = np.iinfo(dtype)
            except ValueError:
                return 1
            found = self.rng.choice([*INTEGERS, *LONG_INTEGERS])
            return min(max(found, limits.min), limits.max)
        if kind in SPECIAL:
            return (
                self.rng.choice(SPECIAL[kind]) if wild or kind == "O" else self.rng.choice([1, 0])
            )
        return 1

    def _attribute(self, attr: Attr) -> Any:
        if attr.allowed is not None and not attr.is_list and self.rng.random() < 0.9:
            return self.rng.choice(list(attr.allowed))
        if attr.is_list:
            return [self._one(attr) for _ in range(self.rng.choice([0, 1, 2, 4, 4, 5]))]
        return self._one(attr)

    def _one(self, attr: Attr) -> Any:
        rng, kind = self.rng, attr.element
        if attr.allowed is not None:
            return rng.choice(list(attr.allowed))
        if kind == "int":
            return rng.choice([1, 1, 2, 2, 3, *INTEGERS, *LONG_INTEGERS])
        return {
            "float": lambda: rng.choice(FLOATS),
            "bool": lambda: rng.choice([True, False]),
            "string": lambda: rng.choice(TEXTS),
            "type": lambda: self._type(attr),
            "shape": lambda: rng.choice([None, [], [2], [None, 2], [0], [1, 2, 3]]),
            "tensor": lambda: tf.make_tensor_proto(rng.choice([1, 1.5, [1, 2], "x"])),
            "func": lambda: rng.choice(["no_such_function", _function(rng)]),
        }[kind]()

    def build(self, graph: Any) -> tuple[Any, dict[Any, Any], list[Any]]:
        """Add the call to a graph; return the outcome, the feeds and the prerequisites."""
        feeds: dict[Any, Any] = {}
        before: list[Any] = []

        def tensor(place: int, value: Any) -> Any:
            arg = self.card.signature.inputs[place]
            if callable(value):
                made = value()
                if made.op.type == "Placeholder":
                    feeds[made] = np.array("wrong", object)
                elif arg.is_ref:
                    before.append(_initialized(made))
                return made
            dtype = arg.dtype or self.types.get(arg.type_attr)
            if dtype is None:
                dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
            if self.known:
                return tf.constant(value, dtype, shape=value.shape)
            fed = tf.placeholder(dtype)
            feeds[fed] = value
            return fed

        with graph.as_default():
            inputs = [
                [tensor(place, item) for item in value]
                if isinstance(value, list)
                else tensor(place, value)
                for place, value in enumerate(self.inputs)
            ]
            return self.card(*inputs, **self.attrs), feeds, before


def _variable(dtype: Any) -> Any:
    return tf.raw_ops.VariableV2(shape=[2], dtype=dtype)


def _initialized(reference: Any) -> Any:
    dtype = reference.dtype.base_dtype
    if dtype == tf.string:
        value = tf.constant(["a", "b"])
    elif dtype in (tf.resource, tf.variant) or dtype.is_quantized:
        return tf.no_op()
    else:
        value = tf.cast([1, 2], dtype)
    return tf.raw_ops.Assign(ref=reference, value=value).op


def _function(rng: random.Random) -> Any:
    return function.Defun(rng.choice([tf.float32, tf.int64]), func_name="same")(lambda x: x)
