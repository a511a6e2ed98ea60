"""TensorShape and Dimension, as programs see them."""

import copy
import pickle

import numpy as np
import pytest

from stillflow.graph import dtypes, tensor_shape
from stillflow.graph.tensor_shape import Dimension, TensorShape, unknown_shape


@pytest.fixture
def integers_instead_of_dimensions():
    tensor_shape.enable_v2_tensorshape()
    yield
    tensor_shape.disable_v2_tensorshape()


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ([2, None], [2, None]),
        ((2, Dimension(3)), [2, 3]),
        (5, [5]),
        (np.array([2, 3]), [2, 3]),
        ([np.int32(4), np.array([3])], [4, 3]),
        (range(3), [0, 1, 2]),
        (["3"], [3]),
        ([True], [1]),
        ([2.0], [2]),
    ],
)
def test_what_a_shape_is_made_of(given, sizes):
    assert TensorShape(given).as_list() == sizes
    assert all(size is None or type(size) is int for size in TensorShape(given)._dims)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("ab", TypeError, "A string has ambiguous TensorShape, please wrap in a list or"),
        ([1.5], ValueError, "Ambiguous dimension: 1.5"),
        ([-1], ValueError, "Dimension -1 must be >= 0"),
        ([dtypes.float32], TypeError, "Cannot convert <dtype: 'float32'> to Dimension"),
        ([[1]], TypeError, "int"),
    ],
)
def test_what_no_shape_is_made_of(given, error, message):
    with pytest.raises(error, match=message):
        TensorShape(given)


@pytest.mark.parametrize("shape", [TensorShape(None), TensorShape([]), TensorShape([2, None])])
def test_shapes_survive_protos_pickling_and_copying(shape):
    for again in (
        TensorShape(shape.as_proto()),
        pickle.loads(pickle.dumps(shape)),
        copy.deepcopy(shape),
        TensorShape(shape),
    ):
        assert again._dims == shape._dims


def test_how_shapes_are_shown():
    assert str(TensorShape([1, None])) == "(1, ?)"
    assert str(TensorShape([3])) == "(3,)"
    assert str(TensorShape(None)) == "<unknown>"
    assert repr(TensorShape([1, None])) == "TensorShape([Dimension(1), Dimension(None)])"
    assert repr(TensorShape(None)) == "TensorShape(None)"


def test_indexing_and_slicing():
    shape = TensorShape([1, 2, None])
    assert isinstance(shape[1], Dimension) and shape[1] == 2
    assert shape[-1].value is None
    assert shape[1:].as_list() == [2, None]
    assert shape[: Dimension(1)].as_list() == [1]
    assert [dim.value for dim in shape] == [1, 2, None]
    unknown = TensorShape(None)
    assert unknown[0].value is None
    assert unknown[1:3].as_list() == [None, None]
    assert unknown[2:].rank is None and unknown[:-1].rank is None
    with pytest.raises(ValueError, match="Steps are not yet handled"):
        unknown[::2]
    with pytest.raises(ValueError, match="Cannot iterate over a shape with unknown rank"):
        list(unknown)
    with pytest.raises(ValueError, match="Cannot take the length of shape with unknown rank"):
        len(unknown)


def test_integers_on_request(integers_instead_of_dimensions):
    shape = TensorShape([1, None])
    assert shape[0] == 1 and type(shape[0]) is int
    assert list(shape) == [1, None]
    assert repr(shape) == "TensorShape([1, None])"
    assert str(shape) == "(1, None)"
    assert TensorShape(None)[3] is None


def test_unknown_sizes_are_equal_only_to_themselves():
    shape = TensorShape([None, 2])
    assert shape == shape and shape == TensorShape(shape)
    assert shape != TensorShape([None, 2])
    assert TensorShape(None) == TensorShape(None)
    assert TensorShape([1, 2]) == [1, 2] and TensorShape([1, 2]) != (1, 3)
    assert TensorShape([2]) != "a"
    with pytest.raises(ValueError, match="The inequality of unknown TensorShapes is undefined"):
        _ = TensorShape([1]) != TensorShape(None)
    with pytest.raises(TypeError, match="unhashable"):
        hash(TensorShape([1]))


def test_combining_shapes():
    assert TensorShape([2, None]).merge_with([None, 3]).as_list() == [2, 3]
    assert TensorShape(None).merge_with([1]).as_list() == [1]
    assert (TensorShape([1]) + [2]).as_list() == [1, 2]
    assert ([1] + TensorShape([2])).as_list() == [1, 2]
    assert (TensorShape([1]) + None).rank is None
    assert TensorShape([2, 3]).most_specific_compatible_shape([2, 4]).as_list() == [2, None]
    assert TensorShape([2]).most_specific_compatible_shape([2, 4]).rank is None
    assert TensorShape([2, None]).is_compatible_with([None, 5])
    assert not TensorShape([2, None]).is_compatible_with([2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.merge_with([2, 4]), "Shapes (2, 3) and (2, 4) are not compatible"),
        (lambda s: s.with_rank(3), "Shape (2, 3) must have rank 3"),
        (lambda s: s.assert_has_rank(1), "Shape (2, 3) must have rank 1"),
        (lambda s: s.with_rank_at_least(3), "Shape (2, 3) must have rank at least 3"),
        (lambda s: s.with_rank_at_most(1), "Shape (2, 3) must have rank at most 1"),
        (lambda s: s.assert_same_rank([1]), "Shapes (2, 3) and (1,) must have the same rank"),
        (
            lambda s: s.assert_is_compatible_with([3, 3]),
            "Shapes (2, 3) and [3, 3] are incompatible",
        ),
        (
            lambda s: TensorShape([2, None]).assert_is_fully_defined(),
            "Shape (2, ?) is not fully defined",
        ),
        (
            lambda s: TensorShape(None).as_list(),
            "as_list() is not defined on an unknown TensorShape.",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError) as error:
        call(TensorShape([2, 3]))
    assert str(error.value).startswith(message)


def test_facts_about_shapes():
    assert TensorShape([2, 3]).num_elements() == 6
    assert TensorShape([0, None]).num_elements() is None
    assert TensorShape([]).is_fully_defined() and not TensorShape([None]).is_fully_defined()
    assert TensorShape([1, 2]).ndims == TensorShape([1, 2]).rank == 2
    assert TensorShape([]) and not TensorShape(None)
    assert TensorShape(None).with_rank(2).as_list() == [None, None]


def test_unknown_shapes_of_a_rank():
    assert unknown_shape(ndims=2).as_list() == [None, None]
    assert unknown_shape().rank is None
    with pytest.raises(TypeError, match="Unknown argument"):
        unknown_shape(foo=2)
    assert tensor_shape.scalar().as_list() == []
    assert tensor_shape.vector(2).as_list() == [2]
    assert tensor_shape.matrix(2, None).as_list() == [2, None]


def test_dimension_arithmetic():
    seven = Dimension(7)
    assert (seven + 1, 1 + seven, seven - 2, 9 - seven) == (8, 8, 5, 2)
    assert (seven * 2, 2 * seven, seven // 2, 15 // seven) == (14, 14, 3, 2)
    assert (seven % 4, 15 % seven) == (3, 1)
    assert (seven + None).value is None and (None * seven).value is None
    assert int(seven) == 7 and list(range(seven)) == list(range(7))
    with pytest.raises(ValueError, match="Dimension -1 must be >= 0"):
        seven - 8
    for divide in (lambda: seven / 2, lambda: 2 / seven):
        with pytest.raises(TypeError, match="please use // instead"):
            divide()
    with pytest.raises(TypeError):
        seven + "a"


def test_dimension_comparison():
    assert Dimension(3) == 3 and Dimension(3) != 4 and Dimension(3) < 4 <= Dimension(4)
    assert Dimension(4) > 3 and Dimension(4) >= Dimension(4)
    assert (Dimension(None) == 3) is None and (Dimension(3) != None) is None  # noqa: E711
    assert (Dimension(3) < None) is None
    assert Dimension(3) != "a"
    assert Dimension(None).is_compatible_with(3) and not Dimension(2).is_compatible_with(3)
    assert Dimension(None).merge_with(3) == 3
    with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
        Dimension(2).merge_with(3)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Dimension(1))


def test_values_behind_dimensions():
    assert tensor_shape.dimension_value(Dimension(3)) == 3
    assert tensor_shape.dimension_value(None) is None
    assert tensor_shape.dimension_at_index(TensorShape([4]), 0) == 4
    assert tensor_shape.dimension_at_index(TensorShape(None), 0).value is None
