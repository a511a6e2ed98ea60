"""Every card against its samples: shapes, values, types, gradients, errors, aliases."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from tests.ops.sampling import KNOWN, Built, arrays_of, build

import stillflow as tf
from stillflow.graph import card as cards
from stillflow.graph.card import Card
from stillflow.ops.samples import Bad, Sample

REFUSED = (
    ValueError, TypeError, tf.errors.InvalidArgumentError, tf.errors.FailedPreconditionError,
    tf.errors.InternalError,  # which is what TensorFlow raises for a few
)  # fmt: skip
STEP = 1e-5

# Where TensorFlow's ops are not what one would expect, and Stillflow's are the same.
SHAPE_OFF_BY_ONE = {
    *((f"Fractional{kind}Pool", output) for kind in ("Avg", "Max") for output in (1, 2)),
    *((f"Unique{kind}V2", output) for kind in ("", "WithCounts") for output in (0, 1)),  # vectors
    *(
        (f"{old}{name}", output)
        for old in ("", "Batch")  # a scalar for what is not computed
        for name, output in (("SelfAdjointEigV2", 1), ("Svd", 1), ("Svd", 2))
    ),
    *((f"FusedBatchNormGrad{kind}", output) for kind in ("", "V2", "V3") for output in (3, 4)),
    ("ExtractVolumePatches", 0),  # a dimension is left out where sizes are not known
    ("BoostedTreesAggregateStats", 0),  # buckets and dimensions in the wrong order
    *(
        (f"BoostedTrees{kind}CalculateBestFeatureSplit", output)
        for kind in ("", "Sparse")
        for output in (4, 5)
    ),
}
NEEDS_SIZES = {
    *("MatrixDiagV2", "MatrixDiagPartV2", "MatrixSetDiagV2"),  # of several diagonals
    "ParallelConcat",
}
NOT_FOR_EVERY_TYPE = {
    "Bitcast",  # the last dimension has to fit
    "Cast",  # strings are not cast
    *("InplaceAdd", "InplaceSub"),  # texts and truth values are put in place, not added
    "ComplexAbs",  # the type of the output has to fit
    "NonDeterministicInts",  # the shape may be said to be anything
}
SECOND_GRADIENT_INCOMPLETE = {
    "MatrixDeterminant",  # the gradient of MatrixInverse leaves out its `adjoint`
    "SoftmaxCrossEntropyWithLogits",  # logits and labels are each taken for constants
}

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel_types.json")) as _file:
    KERNEL_TYPES = json.load(_file)
EVERY_TYPE = (
    "float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64", "int64",
    "bool", "bfloat16", "uint16", "complex128", "float16", "uint32", "uint64",
)  # fmt: skip

ALL = {name: card for name, card in sorted(cards.load_all().items()) if card.samples_part}
DIFFERENTIABLE = [name for name, card in ALL.items() if card.gradient_part]
VALUED = [name for name, card in ALL.items() if card.signature.outputs]


def good(card: Card) -> list[Sample]:
    assert card.samples_part is not None
    return [sample for sample in card.samples_part() if isinstance(sample, Sample)]


def bad(card: Card) -> list[Bad]:
    assert card.samples_part is not None
    return [sample for sample in card.samples_part() if isinstance(sample, Bad)]


def same(first: Any, second: Any) -> bool:
    """Return True if two arrays are equal but for rounding."""
    first, second = np.asarray(first), np.asarray(second)
    if first.shape != second.shape:
        return False
    if first.dtype == object or first.dtype.kind not in "fc":
        return bool(np.all(first == second))
    rounding = 50 * np.finfo(first.dtype).eps
    return np.allclose(first, second, rtol=rounding, atol=rounding, equal_nan=True)


def check_facts(built: Built, values: list[Any]) -> None:
    """Check the graph's facts about the outputs against the kernel's values."""
    for tensor, value in zip(built.outputs, values, strict=True):
        if (tensor.op.type, tensor.value_index) in SHAPE_OFF_BY_ONE:
            continue
        assert tensor.shape.is_compatible_with(np.shape(value)), tensor
        if tensor.dtype == tf.string:
            assert isinstance(value, bytes) or np.asarray(value).dtype == object
        else:
            kind = np.dtype(tensor.dtype.as_numpy_dtype)
            if tensor.dtype.is_quantized:
                kind = kind[0]  # sessions give plain integers
            assert np.asarray(value).dtype == kind, tensor


@pytest.mark.parametrize("name", VALUED)
def test_outputs_do_not_depend_on_what_the_graph_knows(name: str) -> None:
    card = ALL[name]
    for sample in good(card):
        arrays = arrays_of(card, sample)
        expected: list[Any] | None = None
        for known in KNOWN[:2] if name in NEEDS_SIZES else KNOWN:
            built = build(card, arrays, sample.attrs, known, sample.fixed)
            for values in (built.run(), built.run_planned_without_shapes()):
                check_facts(built, values)
                if card.signature.is_stateful:
                    continue
                expected = expected or values
                for value, first in zip(values, expected, strict=True):
                    assert same(value, first), (sample, known)


def combinations(card: Card, sample: Sample, arrays: list[Any]) -> list[dict[str, tf.DType]]:
    """Return possible combinations of the op's type attributes, each type once."""
    own = {
        arg.type_attr: tf.string if first.dtype == object else tf.as_dtype(first.dtype)
        for arg, value in zip(card.signature.inputs, arrays, strict=True)
        for first in (value if arg.is_list else [value])[:1]
        if arg.type_attr is not None
    }
    found = []
    for entry in KERNEL_TYPES.get(card.name, [{}]):
        types = {
            attr: allowed(card, attr, entry.get(attr, EVERY_TYPE))
            for attr in {**own, **entry}
            if attr in own or card.signature.attrs[attr].kind == "type"
        }
        if not all(types.values()):
            continue  # kernels for types that are missing in the signature
        base = {
            attr: own[attr] if own.get(attr) in kinds else kinds[0] for attr, kinds in types.items()
        }
        for attr, kinds in types.items():
            for kind in kinds:
                if not kind.is_quantized and kind not in (tf.resource, tf.variant):
                    found.append({**base, attr: kind})
    return [types for place, types in enumerate(found) if types not in found[:place]]


def allowed(card: Card, attr: str, kinds: Iterable[str]) -> list[tf.DType]:
    """Those of the types that the op's signature allows."""
    listed = card.signature.attrs[attr].allowed
    types = map(tf.as_dtype, kinds)
    return [kind for kind in types if listed is None or kind in map(tf.as_dtype, listed)]


def as_type(array: np.ndarray, dtype: tf.DType) -> np.ndarray:
    """Return the same numbers in another type, or ones like them that the type can hold."""
    if dtype == tf.string:
        texts = np.empty(array.shape, object)
        for place in np.ndindex(array.shape):
            texts[place] = str(array[place]).encode()
        return texts
    if array.dtype == object:
        lengths = [len(item) for item in array.reshape(-1)]
        array = np.array(lengths).reshape(array.shape)
    if array.dtype.kind == "c" and not dtype.is_complex:
        array = array.real
    if array.dtype.kind == "f" and dtype.is_integer:
        array = np.abs(np.nan_to_num(array, posinf=3, neginf=3))
    return array.astype(dtype.as_numpy_dtype)


TYPED = [name for name in VALUED if ALL[name].signature.inputs and name not in NOT_FOR_EVERY_TYPE]


@pytest.mark.parametrize("name", TYPED)
def test_every_type_runs(name: str) -> None:
    card = ALL[name]
    for sample in good(card)[:1]:
        arrays = arrays_of(card, sample)
        for types in combinations(card, sample, arrays):
            cast = [
                value
                if arg.type_attr is None
                else [as_type(item, types[arg.type_attr]) for item in value]
                if arg.is_list
                else as_type(value, types[arg.type_attr])
                for arg, value in zip(card.signature.inputs, arrays, strict=True)
            ]
            given = {arg.type_attr for arg in card.signature.inputs}
            attrs = {**sample.attrs, **{k: v for k, v in types.items() if k not in given}}
            known = "sizes" if name in NEEDS_SIZES else "ranks"
            built = build(card, cast, attrs, known, sample.fixed, types)
            check_facts(built, built.run())


def double(card: Card, arrays: list[Any]) -> list[Any]:
    """Return the inputs with single precision made double where the op takes that."""

    def takes_double(attr: str | None) -> bool:
        return attr is not None and bool(allowed(card, attr, ["float64"]))

    def cast(array: np.ndarray) -> np.ndarray:
        return array.astype(np.float64) if array.dtype == np.float32 else array

    return [
        value
        if not takes_double(arg.type_attr)
        else [cast(item) for item in value]
        if arg.is_list
        else cast(value)
        for arg, value in zip(card.signature.inputs, arrays, strict=True)
    ]


class Slope:
    """A scalar function of a built op's double inputs, and its slope in a random direction.

    What has no gradient is held still.
    """

    def __init__(self, built: Built, total: tf.Tensor, xs: list[tf.Tensor]) -> None:
        self.built, self.total = built, total
        with built.graph.as_default():
            grads = tf.gradients(total, xs)
            kept = [(x, grad) for x, grad in zip(xs, grads, strict=True) if grad is not None]
            self.xs = [x for x, _ in kept]
            self.grads = [tf.convert_to_tensor(grad) for _, grad in kept]
        rng = np.random.default_rng(7)
        self.direction = [rng.uniform(-1, 1, built.feeds[x].shape) for x in self.xs]

    def measured(self) -> float:
        ends = []
        with tf.Session(graph=self.built.graph) as session:
            for sign in (1, -1):
                feeds = dict(self.built.feeds)
                for x, direction in zip(self.xs, self.direction, strict=True):
                    feeds[x] = feeds[x] + sign * STEP * direction
                ends.append(session.run(self.total, feeds))
        return (ends[0] - ends[1]) / (2 * STEP)

    def computed(self) -> float:
        with tf.Session(graph=self.built.graph) as session:
            values = session.run(self.grads, self.built.feeds)
        return sum(
            float(np.sum(value * way)) for value, way in zip(values, self.direction, strict=True)
        )


def weighted(built: Built, tensors: list[tf.Tensor]) -> tf.Tensor:
    """One number that depends on every element of the tensors."""
    with tf.Session(graph=built.graph) as session:
        values = session.run(tensors, built.feeds)
    rng = np.random.default_rng(11)
    with built.graph.as_default():
        return tf.add_n(
            [
                tf.reduce_sum(tensor * rng.uniform(0.5, 1.5, np.shape(value)))
                for tensor, value in zip(tensors, values, strict=True)
            ]
        )


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_slopes(name: str) -> None:
    card = ALL[name]
    for sample in good(card):
        arrays = double(card, arrays_of(card, sample))
        known = "sizes" if name in NEEDS_SIZES else "ranks"
        built = build(card, arrays, sample.attrs, known, sample.fixed)
        tensors = differentiable(built.outputs, sample.grad)
        xs = [x for x in built.feeds if x.dtype == tf.float64]
        if not tensors or not xs:
            continue
        first = Slope(built, weighted(built, tensors), xs)
        assert first.computed() == pytest.approx(first.measured(), rel=1e-5, abs=1e-6), sample
        if not first.grads or name in SECOND_GRADIENT_INCOMPLETE:
            continue
        try:
            second = Slope(built, weighted(built, first.grads), first.xs)
        except LookupError:
            continue  # TensorFlow has no second gradient either
        assert second.computed() == pytest.approx(second.measured(), rel=1e-4, abs=1e-5), sample


def differentiable(outputs: list[tf.Tensor], grad: bool | tuple[int, ...]) -> list[tf.Tensor]:
    if isinstance(grad, bool):
        grad = tuple(range(len(outputs))) if grad else ()
    return [outputs[place] for place in grad if outputs[place].dtype == tf.float64]


@pytest.mark.parametrize("name", [name for name in ALL if bad(ALL[name])])
def test_bad_arguments_are_refused(name: str) -> None:
    card = ALL[name]
    for sample in bad(card):
        arrays = arrays_of(card, sample)
        with pytest.raises(REFUSED, match=sample.match):
            build(card, arrays, sample.attrs, "values").run()
        with pytest.raises(REFUSED):  # kernels have words of their own
            build(card, arrays, sample.attrs, "types").run()


@pytest.mark.parametrize("name", VALUED)
def test_inputs_keep_their_values_and_memory(name: str) -> None:
    card = ALL[name]
    for sample in good(card):
        arrays = arrays_of(card, sample)
        built = build(card, arrays, sample.attrs, "sizes", sample.fixed)
        before = {tensor: value.copy() for tensor, value in built.feeds.items()}
        assert not built.hidden_views(), sample
        for tensor, value in built.feeds.items():
            assert same(value, before[tensor]), sample
