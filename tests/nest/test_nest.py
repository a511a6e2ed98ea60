"""Nested structures."""

import collections
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillflow import nest

Point = collections.namedtuple("Point", ["x", "y"])
Attribute = collections.namedtuple("Attribute", ["name"])


class Attrs:
    """Class in the form that the attrs library makes."""

    __attrs_attrs__ = (Attribute("b"), Attribute("a"))

    def __init__(self, b, a):
        self.b, self.a = b, a

    def __eq__(self, other):
        return (self.a, self.b) == (other.a, other.b)

    __hash__ = None


class Stack(list):
    """A list of another class."""


leaves = st.integers() | st.text(max_size=2) | st.none()
structures = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
        | st.tuples(inner, inner).map(lambda xy: Point(*xy))
    ),
    max_leaves=8,
)


@given(structures)
def test_packing_undoes_flattening(structure):
    flat = nest.flatten(structure)
    again = nest.pack_sequence_as(structure, flat)
    assert again == structure and type(again) is type(structure)
    nest.assert_same_structure(structure, nest.map_structure(str, structure))
    assert [leaf for _, leaf in nest.flatten_with_tuple_paths(structure)] == flat
    assert nest.flatten_up_to(structure, structure) == flat


@pytest.mark.parametrize(
    ("structure", "flat"),
    [
        (5, [5]),
        ("ab", ["ab"]),
        ((1, [2, {"b": 3, "a": 4}]), [1, 2, 4, 3]),
        (collections.OrderedDict([("b", 1), ("a", 2)]), [2, 1]),
        (Point(1, (2, 3)), [1, 2, 3]),
        (Attrs(1, [2]), [1, 2]),
        (types.MappingProxyType({"b": 1, "a": 2}), [2, 1]),
        (range(3), [0, 1, 2]),
        ({"b": 1, "a": 2}.values(), [1, 2]),
        (collections.deque([1, [2]]), [1, 2]),
        ([], []),
    ],
)
def test_leaves_in_order(structure, flat):
    assert nest.flatten(structure) == flat


def test_leaves_are_not_looked_into():
    array, items = np.zeros(2), {1, 2}
    assert nest.flatten([array, items])[0] is array
    assert not nest.is_nested(items) and not nest.is_nested("ab") and not nest.is_nested(b"ab")
    assert nest.is_nested({}) and nest.is_nested([]) and nest.is_nested({}.keys())


def test_packing_keeps_classes_and_orders():
    ordered = collections.OrderedDict([("b", 0), ("a", 0)])
    packed = nest.pack_sequence_as(ordered, [1, 2])
    assert list(packed.items()) == [("b", 2), ("a", 1)]
    assert type(packed) is collections.OrderedDict
    default = nest.pack_sequence_as(collections.defaultdict(list, a=0), [1])
    assert default["new"] == [] and default["a"] == 1
    assert nest.pack_sequence_as(Attrs(0, 0), [1, 2]) == Attrs(1, 2)
    assert nest.pack_sequence_as(Point(0, 0), [1, 2]) == Point(1, 2)
    assert type(nest.pack_sequence_as(Stack([0]), [1])) is Stack
    assert nest.pack_sequence_as(range(2), [5, 6]) == [5, 6]
    assert nest.pack_sequence_as({"a": 0}.keys(), ["b"]) == ["b"]
    assert nest.pack_sequence_as("leaf", [7]) == 7


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2], "ab"), TypeError, "flat_sequence must be a sequence"),
        ((1, [1, 2]), ValueError, r"Structure is a scalar but len\(flat_sequence\) == 2 > 1"),
        (
            ([1, [2]], [1]),
            ValueError,
            (
                "Could not pack sequence. Structure had 2 elements, but flat_sequence had 1 "
                r"elements.  Structure: \[1, \[2\]\], flat_sequence: \[1\]."
            ),
        ),
        (([1], [1, 2]), ValueError, "Structure had 1 elements, but flat_sequence had 2"),
    ],
)
def test_packing_refuses_wrong_numbers(arguments, error, message):
    with pytest.raises(error, match=message):
        nest.pack_sequence_as(*arguments)


def test_unsortable_keys_are_refused():
    for call in (nest.flatten, lambda s: nest.pack_sequence_as(s, [1, 2])):
        with pytest.raises(TypeError, match="nest only supports dicts with sortable keys"):
            call({"a": 1, 2: 3})


def test_mapping_functions():
    assert nest.map_structure(lambda x, y: x + y, [1, (2,)], [10, (20,)]) == [11, (22,)]
    assert nest.map_structure(lambda x: x + 1, {"a": [1]}) == {"a": [2]}
    assert nest.map_structure(lambda x, y: x + y, [1], (2,), check_types=False) == [3]
    with pytest.raises(TypeError, match="func must be callable, got: 5"):
        nest.map_structure(5, [1])
    with pytest.raises(ValueError, match="Must provide at least one structure"):
        nest.map_structure(str)
    with pytest.raises(ValueError, match="Only valid keyword arguments are `check_types` and"):
        nest.map_structure(str, [1], foo=2)


Other = collections.namedtuple("Other", ["x", "y"])
SamePoint = collections.namedtuple("Point", ["x", "y"])


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1, (2,)], ["x", ("y",)]),
        (Point(1, 2), SamePoint(3, 4)),
        ([1], Stack([2])),
        ({"a": 1}, collections.OrderedDict(a=2)),
        (1, "a"),
    ],
)
def test_same_structures(a, b):
    nest.assert_same_structure(a, b)


@pytest.mark.parametrize(
    ("a", "b", "error", "detail"),
    [
        (
            [1, [2]],
            [1, 2],
            ValueError,
            (
                'Substructure "type=list str=[2]" is a sequence, while substructure '
                '"type=int str=2" is not'
            ),
        ),
        (
            [1],
            [1, 2],
            ValueError,
            (
                "The two structures don't have the same number of elements. First structure: "
                "type=list str=[1]. Second structure: type=list str=[1, 2]"
            ),
        ),
        (
            [1],
            (1,),
            TypeError,
            (
                "The two namedtuples don't have the same sequence type. First structure type=list "
                "str=[1] has type list, while second structure type=tuple str=(1,) has type tuple"
            ),
        ),
        (
            Point(1, 2),
            Other(1, 2),
            TypeError,
            (
                "The two namedtuples don't have the same sequence type. First structure type=Point "
                "str=Point(x=1, y=2) has type Point, while second structure type=Other "
                "str=Other(x=1, y=2) has type Other"
            ),
        ),
        (
            {"a": 1},
            {"b": 1},
            ValueError,
            (
                "The two dictionaries don't have the same set of keys. First structure has keys "
                "type=list str=['a'], while second structure has keys type=list str=['b']"
            ),
        ),
    ],
)
def test_different_structures(a, b, error, detail):
    with pytest.raises(error) as refusal:
        nest.assert_same_structure(a, b)
    text = str(refusal.value)
    assert text.startswith("The two structures don't have the same nested structure.\n\n")
    assert f"\n\nMore specifically: {detail}\nEntire first structure:\n" in text
    assert text.endswith(str(nest.map_structure(lambda _: nest.compare._DOT, b)))


def test_classes_need_not_agree_on_request():
    nest.assert_same_structure([1, (2,)], (1, [2]), check_types=False)


def test_down_to_a_shallow_structure():
    assert nest.flatten_up_to([0, (0, 0)], [[1], ({"a": 2}, 3)]) == [[1], {"a": 2}, 3]
    assert nest.flatten_up_to({"a": 0}, {"a": [1], "b": 2}, check_subtrees_length=False) == [[1]]
    assert nest.map_structure_up_to([0, 0], len, [[1], [2, 3]]) == [1, 2]
    assert nest.flatten_with_tuple_paths_up_to({"a": (0,)}, {"a": ([1],)}) == [(("a", 0), [1])]
    assert nest.map_structure_up_to([0], lambda x, k: x + k, [1], k=2) == [3]
    with pytest.raises(ValueError, match="Cannot map over no sequences"):
        nest.map_structure_up_to([0], len)


@pytest.mark.parametrize(
    ("shallow", "deep", "error", "message"),
    [
        ([0], 1, TypeError, nest._IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ.format(int)),
        (
            [0],
            (1,),
            TypeError,
            nest._STRUCTURES_HAVE_MISMATCHING_TYPES.format(input_type=tuple, shallow_type=list),
        ),
        (
            [0],
            [1, 2],
            ValueError,
            nest._STRUCTURES_HAVE_MISMATCHING_LENGTHS.format(input_length=2, shallow_length=1),
        ),
        ({"a": 0}, {"b": 1}, ValueError, nest._SHALLOW_TREE_HAS_INVALID_KEYS.format(["a"])),
    ],
)
def test_what_is_no_shallow_structure(shallow, deep, error, message):
    with pytest.raises(error) as refusal:
        nest.assert_shallow_structure(shallow, deep)
    assert str(refusal.value) == message


def test_deep_structures_may_not_be_shorter():
    with pytest.raises(ValueError, match="The input_tree has fewer elements than the shallow"):
        nest.assert_shallow_structure([0, 0], [1], check_subtrees_length=False)


def test_paths():
    structure = {"b": [1, Point(2, 3)], "a": 4}
    assert list(nest.yield_flat_paths(structure)) == [
        ("a",),
        ("b", 0),
        ("b", 1, "x"),
        ("b", 1, "y"),
    ]
    joined = nest.flatten_with_joined_string_paths(structure, separator=".")
    assert joined == [("a", 4), ("b.0", 1), ("b.1.x", 2), ("b.1.y", 3)]
    assert nest.map_structure_with_paths(lambda path, x: f"{path}={x}", {"a": [1]}) == {
        "a": ["a/0=1"]
    }
    assert nest.map_structure_with_tuple_paths(lambda path, x: path, [1, (2,)]) == [
        (0,),
        ((1, 0),),
    ]


def test_choosing_what_to_go_into():
    structure = [1, [2, (3, 4)], {"a": [5]}]
    into_lists = nest.get_traverse_shallow_structure(lambda s: isinstance(s, list), structure)
    assert into_lists == [False, [False, False], False]
    choose = nest.get_traverse_shallow_structure(
        lambda s: [True, False] if s == structure[:2] else not isinstance(s, tuple), structure[:2]
    )
    assert choose == [True, False]
    with pytest.raises(TypeError, match="traverse_fn returned a non-bool scalar"):
        nest.get_traverse_shallow_structure(lambda s: 5, [1])
    with pytest.raises(TypeError, match="traverse_fn returned structure"):
        nest.get_traverse_shallow_structure(lambda s: [True], [1])
    with pytest.raises(TypeError, match="traverse_fn didn't return a depth=1 structure of bools"):
        nest.get_traverse_shallow_structure(lambda s: [1], [1])


def test_flattening_keys():
    assert nest.flatten_dict_items({(1, (2,)): ("a", ("b",)), 3: "c"}) == {1: "a", 2: "b", 3: "c"}
    with pytest.raises(TypeError, match="input must be a dictionary"):
        nest.flatten_dict_items([1])
    with pytest.raises(ValueError, match="Key had 2 elements, but value had 1 elements"):
        nest.flatten_dict_items({(1, 2): ("a",)})
    with pytest.raises(ValueError, match="key 1 is not unique"):
        nest.flatten_dict_items({(1, 1): ("a", "b")})


def test_a_stop_iteration_of_the_function_is_not_the_end_of_the_map():
    with pytest.raises(StopIteration):
        nest.map_structure(next, (iter([1]), iter([])))
