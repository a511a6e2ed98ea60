"""Types of tensors and of values made of tensors."""

import pickle

import numpy as np
import pytest

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.composite_tensor import (
    CompositeTensor,
    replace_composites_with_components,
)
from stillflow.graph.tensor_shape import TensorShape
from stillflow.graph.tensor_spec import BoundedTensorSpec, TensorSpec
from stillflow.graph.type_spec import TypeSpec, type_spec_from_value


class PairSpec(TypeSpec):
    """The type of two values of one shape, with a label."""

    def __init__(self, shape, dtype, label="red"):
        self.shape, self.dtype, self.label = TensorShape(shape), dtypes.as_dtype(dtype), label

    value_type = property(lambda self: Pair)

    @property
    def _component_specs(self):
        return [TensorSpec(self.shape, self.dtype), TensorSpec(self.shape, self.dtype)]

    def _to_components(self, value):
        return [value.x, value.y]

    def _from_components(self, components):
        return Pair(*components, self.label)

    def _serialize(self):
        return self.shape, self.dtype, self.label


class Pair(CompositeTensor):
    def __init__(self, x, y, label="red"):
        self.x, self.y, self.label = x, y, label

    @property
    def _type_spec(self):
        return PairSpec(self.x.shape, self.x.dtype, self.label)


def pair(*sizes, label="red"):
    return Pair(np.zeros(sizes, np.float32), np.ones(sizes, np.float32), label)


def test_tensor_types_compare_by_value():
    spec = TensorSpec([1, None], "float32", "x")
    assert spec == TensorSpec(TensorShape([1, None]), np.float32, "x")
    assert spec != TensorSpec([1, None], np.float32, "y")
    assert spec != TensorSpec([1, 2], np.float32, "x")
    assert hash(spec) == hash(TensorSpec.from_spec(spec))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert repr(spec) == "TensorSpec(shape=(1, ?), dtype=tf.float32, name='x')"
    assert TensorSpec(None) == TensorSpec(None)


def test_compatible_tensor_types():
    spec = TensorSpec([1, None])
    assert spec.is_compatible_with(TensorSpec([1, 5]))
    assert not spec.is_compatible_with(TensorSpec([1]))
    assert not spec.is_compatible_with(TensorSpec([1, 5], dtypes.int32))
    assert not spec.is_compatible_with(np.zeros([1, 5], np.float32))


def test_generalizing_tensor_types():
    merged = TensorSpec([1, 2], name="a").most_specific_compatible_type(TensorSpec([1, 3]))
    assert merged == TensorSpec([1, None])
    with pytest.raises(ValueError, match="Types are not compatible"):
        TensorSpec([1]).most_specific_compatible_type(TensorSpec([1], dtypes.int32))


def test_batching_tensor_types():
    assert TensorSpec([3])._batch(None) == TensorSpec([None, 3])
    assert TensorSpec([2, 3])._unbatch() == TensorSpec([3])
    with pytest.raises(ValueError, match="Unbatching a tensor is only supported for rank >= 1"):
        TensorSpec([])._unbatch()


def test_bounds():
    spec = BoundedTensorSpec([2, 3], "float32", 0, [1, 2, 3], "x")
    assert spec.minimum == 0 and spec.maximum.tolist() == [1, 2, 3]
    assert not spec.maximum.flags.writeable
    assert spec == pickle.loads(pickle.dumps(spec))
    assert spec != BoundedTensorSpec([2, 3], "float32", 0, 1, "x")
    assert repr(spec).startswith("BoundedTensorSpec(shape=(2, 3), dtype=tf.float32, name='x', min")
    of_type = BoundedTensorSpec.from_spec(TensorSpec([2], "uint8"))
    assert (of_type.minimum, of_type.maximum) == (0, 255)
    with pytest.raises(ValueError, match="minimum is not compatible with shape"):
        BoundedTensorSpec([3], "float32", [0, 0], 1)
    with pytest.raises(ValueError, match="minimum and maximum must be provided; but saw 'None'"):
        BoundedTensorSpec([3], "float32", None, 1)


def test_types_of_composites():
    spec = PairSpec([None], "float32")
    assert spec == PairSpec([None], np.float32) and hash(spec) == hash(PairSpec([None], "float"))
    assert spec != PairSpec([None], "float32", "blue")
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert repr(spec) == f"PairSpec({TensorShape([None])!r}, tf.float32, 'red')"
    assert spec.is_compatible_with(pair(3))
    assert not spec.is_compatible_with(pair(3, label="blue"))
    assert not spec.is_compatible_with(np.zeros(3))
    assert PairSpec([2], "float32").most_specific_compatible_type(PairSpec([3], "float")) == spec
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        spec.most_specific_compatible_type(TensorSpec([1]))
    with pytest.raises(ValueError, match="Types are not compatible"):
        spec.most_specific_compatible_type(PairSpec([None], "int32"))


def test_types_of_values():
    assert type_spec_from_value(np.zeros([2], np.int32)) == TensorSpec([2], "int32")
    assert type_spec_from_value(pair(2)) == PairSpec([2], "float32")
    stacked = type_spec_from_value([np.zeros(2, np.int32), np.zeros(3, np.int32)])
    assert stacked == TensorSpec([2, None], "int32")


def test_composites_in_structures():
    value = {"a": pair(2), "b": 5}
    assert nest.flatten(value) == [value["a"], 5]
    x, y, five = nest.flatten(value, expand_composites=True)
    assert (x is value["a"].x, y is value["a"].y, five) == (True, True, 5)
    again = nest.pack_sequence_as(value, [y, x, 6], expand_composites=True)
    assert isinstance(again["a"], Pair) and again["a"].x is y and again["b"] == 6
    specs = {"a": PairSpec([2], "float32"), "b": 0}
    nest.assert_same_structure(value, specs, expand_composites=True)
    assert len(nest.flatten(specs, expand_composites=True)) == 3
    with pytest.raises(ValueError, match="Incompatible CompositeTensor TypeSpecs"):
        nest.assert_same_structure(pair(2), pair(2, label="blue"), expand_composites=True)
    assert replace_composites_with_components(value) == {"a": [x, y], "b": 5}


def test_flat_tensors_of_composites():
    spec = PairSpec([None], "float32")
    x, y = spec._to_tensor_list(pair(2))
    assert spec._from_tensor_list([x, y]).y is y
    with pytest.raises(ValueError, match="Incompatible input: wrong number of tensors"):
        spec._from_tensor_list([x])
    with pytest.raises(ValueError, match="Incompatible input: tensor 1"):
        spec._from_tensor_list([x, np.zeros([2, 2], np.float32)])
