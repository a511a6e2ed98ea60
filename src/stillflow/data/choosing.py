"""Datasets of the elements of several datasets that chance or another dataset chooses.

Functions of elements have the names that TensorFlow's graphs show.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.data import nest, structure
from stillflow.data.convert import get_seed
from stillflow.data.dataset import DatasetSource, DatasetV2, legacy_structure
from stillflow.data.dataset_v1 import DatasetV1, DatasetV1Adapter
from stillflow.data.experimental import Transformation, scan, unbatch
from stillflow.data.mapping import MapDataset
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.arrays.fill import fill
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.one_hot import one_hot
from stillflow.ops.arrays.shape import expand_dims, shape, squeeze
from stillflow.ops.arrays.tile import tile
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.data.interleaving import directed_interleave_dataset_op
from stillflow.ops.data.sources import random_dataset_op
from stillflow.ops.math.binary import add
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import less
from stillflow.ops.math.division import truediv
from stillflow.ops.math.reductions import reduce_max, reduce_min, reduce_sum
from stillflow.ops.math.unary import log
from stillflow.ops.printing import print_tensors
from stillflow.ops.random.basic import random_uniform
from stillflow.ops.random.categorical import stateless_multinomial_op


@export("compat.v2.data.experimental.RandomDataset")
class RandomDatasetV2(DatasetSource):
    """Random numbers without end, int64 scalars below 2**32."""

    def __init__(self, seed: Any = None) -> None:
        """Make a dataset of the numbers that a seed stands for."""
        self._seed, self._seed2 = get_seed(seed)
        super().__init__(random_dataset_op(self._seed, self._seed2, **self._flat_structure))

    @property
    def element_spec(self) -> TensorSpec:
        return TensorSpec([], dtypes.int64)


@export("data.experimental.RandomDataset", "contrib.data.RandomDataset")
class RandomDatasetV1(DatasetV1Adapter):
    """Random numbers without end, int64 scalars below 2**32."""

    def __init__(self, seed: Any = None) -> None:
        """Make a dataset of the numbers that a seed stands for."""
        super().__init__(RandomDatasetV2(seed))


RandomDataset = RandomDatasetV1


class _DirectedInterleaveDataset(DatasetV1):
    """Elements of the datasets whose numbers another one gives."""

    def __init__(self, selector_input: Any, data_inputs: Sequence[Any]) -> None:
        self._selector_input = selector_input
        self._data_inputs = list(data_inputs)
        types, shapes, classes = legacy_structure(data_inputs[0])
        for data_input in data_inputs[1:]:
            other = legacy_structure(data_input)
            if other[0] != types or other[2] != classes:
                raise TypeError("All datasets must have the same type and class.")
            flat = [
                mine.most_specific_compatible_shape(theirs)
                for mine, theirs in zip(nest.flatten(shapes), nest.flatten(other[1]), strict=True)
            ]
            shapes = nest.pack_sequence_as(shapes, flat)
        self._element_spec = structure.convert_legacy_structure(types, shapes, classes)
        super().__init__()

    def _as_variant_tensor(self) -> Tensor:
        return directed_interleave_dataset_op(
            self._selector_input._variant_tensor,
            [data_input._variant_tensor for data_input in self._data_inputs],
            **self._flat_structure,
        )

    def _inputs(self) -> list[Any]:
        return [self._selector_input, *self._data_inputs]

    @property
    def element_spec(self) -> Any:
        return self._element_spec


def _draw(logits: Any, seed: Any) -> Tensor:
    return squeeze(stateless_multinomial_op(logits, 1, seed), axis=[0, 1])


@export("data.experimental.sample_from_datasets", "contrib.data.sample_from_datasets")
def sample_from_datasets(
    datasets: Sequence[Any], weights: Any = None, seed: Any = None
) -> DatasetV1Adapter:
    """Elements of datasets, of which chance chooses one each time.

    Args:
      datasets: datasets of the same type.
      weights: how likely each is, or a dataset of such lists; all alike by default.
      seed: of chance.

    Raises:
      TypeError: if datasets differ in type, or weights are no floating point numbers.
      ValueError: if there are not as many weights as datasets.
    """
    if isinstance(weights, DatasetV2):
        logits = weights.map(lambda *probabilities: log(probabilities, name="logits"))
        both = DatasetV1.zip((logits, RandomDataset(seed).batch(2)))

        def select_dataset_varying_logits(row: Any, pair: Any) -> Tensor:
            return _draw(row, pair)

        selector = MapDataset(both, select_dataset_varying_logits, use_inter_op_parallelism=False)
        return DatasetV1Adapter(_DirectedInterleaveDataset(selector, datasets))
    constant_logits: Any
    if weights is None:
        constant_logits = [[1.0] * len(datasets)]
    else:
        weights = convert_to_tensor(weights, name="weights")
        if weights.dtype not in (dtypes.float32, dtypes.float64):
            raise TypeError(
                "`weights` must be convertible to a tensor of `tf.float32` or `tf.float64` "
                "elements."
            )
        if not weights.shape.is_compatible_with([len(datasets)]):
            raise ValueError("`weights` must be a vector of length `len(datasets)`.")
        constant_logits = expand_dims(log(weights, name="logits"), 0)
    if len(datasets) == 1:
        return DatasetV1Adapter(datasets[0])

    def select_dataset_constant_logits(pair: Any) -> Tensor:
        return _draw(constant_logits, pair)

    selector = MapDataset(
        RandomDataset(seed).batch(2), select_dataset_constant_logits,
        use_inter_op_parallelism=False,
    )  # fmt: skip
    return DatasetV1Adapter(_DirectedInterleaveDataset(selector, datasets))


@export("data.experimental.choose_from_datasets", "contrib.data.choose_from_datasets")
def choose_from_datasets(datasets: Sequence[Any], choice_dataset: Any) -> DatasetV1Adapter:
    """Elements of the datasets whose numbers another dataset gives.

    Args:
      datasets: datasets of the same type.
      choice_dataset: int64 scalars.

    Raises:
      TypeError: if datasets differ in type, or `choice_dataset` is no such dataset.
    """
    if not structure.are_compatible(choice_dataset.element_spec, TensorSpec([], dtypes.int64)):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return DatasetV1Adapter(_DirectedInterleaveDataset(choice_dataset, datasets))


# ---- resampling by rejection
#
# An element of class i, whose share is p_i, is kept with probability a_i; the share among those
# kept is to be t_i. With r_i = t_i / p_i, the least is discarded where elements are taken as
# they come with probability m = min(r), and else a_i = (r_i - m) / (max(r) - m).

_COUNTED = 32  # elements whose classes are counted at once
_FIRST_COUNT = 10  # of each class, before any was seen


@export("data.experimental.rejection_resample", "contrib.data.rejection_resample")
def rejection_resample(
    class_func: Any, target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Transformation:
    """Leaves out elements so that classes get the shares that are wanted.

    Args:
      class_func: from an element to its class, an int32 scalar.
      target_dist: the share of each class that is wanted.
      initial_dist: the share that each class has; counted if it is not given.
      seed: of chance.

    Returns:
      A transformation to a dataset of pairs of a class and an element.
    """

    def apply(dataset: Any) -> Any:
        target = convert_to_tensor(target_dist, name="target_dist")
        classes = dataset.map(class_func)
        known = None
        if initial_dist is not None:
            known = convert_to_tensor(initial_dist, name="initial_dist")
            shares = (known, *_acceptance(known, target))
            initial, accepted, original = (
                DatasetV1.from_tensors(one).repeat() for one in shares
            )  # fmt: skip
        else:
            initial = _counted_shares(target, classes)
            both = initial.map(lambda found: _acceptance(found, target))
            accepted = both.map(lambda kept, _: kept)
            original = both.map(lambda _, taken: taken)
        filtered = _filtered(dataset, accepted, initial, classes, seed).prefetch(3)
        certain = None if known is None else _certain(known, target)
        pairs = DatasetV1.zip((classes, dataset))
        if certain == 1:
            return pairs
        if certain == 0:
            return filtered
        weights = original.map(lambda taken: [(taken, 1.0 - taken)])
        return sample_from_datasets([pairs, filtered], weights=weights, seed=seed)

    return apply


def _certain(initial: Any, target: Any) -> Any:
    """Return the probability that an element is taken as it comes, if it is known now."""
    values = static_value(initial), static_value(target)
    if values[0] is None or values[1] is None:
        return None
    return np.min(values[1] / values[0])


def _acceptance(initial: Any, target: Any) -> tuple[Any, Any]:
    ratios = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    most, least = reduce_max(ratios), reduce_min(ratios)
    return (ratios - least) / (most - least), least


def _filtered(dataset: Any, accepted: Any, initial: Any, classes: Any, seed: Any) -> Any:
    checked = DatasetV1.zip((accepted, initial)).map(maybe_warn_on_large_rejection)
    drawn = (
        DatasetV1.zip((classes, checked, dataset))
        .map(_gather_and_copy)
        .filter(lambda _1, probability, _2: random_uniform([], seed=seed) < probability)
    )
    return drawn.map(lambda number, _, data: (number, data))


# The names of these two stand in graphs.


def maybe_warn_on_large_rejection(kept: Any, share: Any) -> Tensor:
    """Print the first probabilities with which most elements are left out."""
    rejected = reduce_sum((1 - kept) * share)
    text = "Proportion of examples rejected by sampler is high: "
    shown = functools.partial(
        print_tensors, kept, [rejected, share, kept], message=text, first_n=10, summarize=100
    )
    return cond(less(rejected, 0.5), lambda: kept, shown)


def _gather_and_copy(number: Any, kept: Any, data: Any) -> tuple[Tensor, Tensor, Tensor]:
    return number, gather(kept, number), data


def _counted_shares(target: Any, classes: Any) -> Any:
    count = target.shape[0] or shape(target)[0]
    first = fill([count], np.int64(_FIRST_COUNT))

    def update_estimate_and_tile(seen: Any, numbers: Any) -> tuple[Any, Any]:
        ones = one_hot(numbers, seen.get_shape()[0], dtype=dtypes.int64)
        seen = add(seen, reduce_sum(ones, 0))
        shares = cast(truediv(seen, reduce_sum(seen)), dtypes.float32)
        return seen, tile(expand_dims(shares, 0), [_COUNTED, 1])

    return classes.batch(_COUNTED).apply(scan(first, update_estimate_and_tile)).apply(unbatch())
