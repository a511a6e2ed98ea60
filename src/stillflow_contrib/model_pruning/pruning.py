"""The schedule of pruning, and the operations that update masks."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.contrib.training.hparam import HParams
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.platform import tf_logging
from stillflow.train.global_step import get_global_step
from stillflow.variables.partitioned import PartitionedVariable
from stillflow_contrib.model_pruning import blocks
from stillflow_contrib.model_pruning.assignment import (
    partitioned_variable_assign,
    variable_assign,
)
from stillflow_contrib.model_pruning.masks import get_masks, get_thresholds, get_weights

if TYPE_CHECKING:
    from stillflow.variables.scatter import ScatterMethods


_LAST_UPDATE = "last_mask_update_step"


_SETTINGS: dict[str, Any] = {
    "name": "model_pruning", "begin_pruning_step": 0, "end_pruning_step": -1,
    "weight_sparsity_map": [""], "block_dims_map": [""], "threshold_decay": 0.0,
    "pruning_frequency": 10, "nbins": 256, "block_height": 1, "block_width": 1,
    "block_pooling_function": "AVG", "initial_sparsity": 0.0, "target_sparsity": 0.5,
    "sparsity_function_begin_step": 0, "sparsity_function_end_step": 100,
    "sparsity_function_exponent": 3.0, "use_tpu": False,
}  # fmt: skip


@export("contrib.model_pruning.get_pruning_hparams")
def get_pruning_hparams() -> HParams:
    """Return the settings of pruning, an `HParams`.

    `begin_pruning_step` and `end_pruning_step` (-1: never) limit the updates of masks, which happen
    every `pruning_frequency` steps. The part of weights that is zero goes from `initial_sparsity`
    to `target_sparsity` between the steps `sparsity_function_begin_step` and `..._end_step`, by a
    power of the rest, `sparsity_function_exponent`; `weight_sparsity_map` has other targets,
    "pattern:target", and `block_dims_map` other sizes of blocks, "pattern:heightxwidth", than
    `block_height` and `block_width`. Blocks are pooled by `block_pooling_function`.
    """
    return HParams(**copy.deepcopy(_SETTINGS))


def _check(spec: Any) -> None:
    if spec.begin_pruning_step < 0:
        raise ValueError("Illegal value for begin_pruning_step")
    if spec.begin_pruning_step >= spec.end_pruning_step and spec.end_pruning_step != -1:
        raise ValueError(
            f"Pruning must begin before it can end. begin_step={spec.begin_pruning_step:d}, "
            f"end_step={spec.end_pruning_step:d}.Set end_pruning_step to -1 if pruning is required "
            "till trainingstops"
        )
    if spec.sparsity_function_begin_step < 0:
        raise ValueError("Illegal value for sparsity_function_begin_step")
    if spec.sparsity_function_begin_step >= spec.sparsity_function_end_step:
        raise ValueError("Sparsity function requires begin_step < end_step")
    for name in ("threshold_decay", "initial_sparsity", "target_sparsity"):
        if not 0.0 <= getattr(spec, name) < 1.0:
            raise ValueError(f"{name} must be in range [0,1)")


def _block_dims(text: str, name: str) -> list[int]:
    sizes = text.split("x")
    if len(sizes) != 2:
        raise ValueError(f"Expected 2 values for block dim for {name}, got {sizes}")
    return [int(size) for size in sizes]


def _weight_sparsity(text: str, _: str) -> float:
    if float(text) >= 1.0:
        raise ValueError("Weight sparsity can not exceed 1.0")
    return float(text)


def _by_pattern(entries: Any, parse: Any) -> dict[re.Pattern[str], Any]:
    """{pattern: value} of "pattern:value"."""
    found = {}
    for entry in entries:
        if entry:
            name, text = entry.split(":")
            found[re.compile(name)] = parse(text, name)
    return found


def _matching(settings: dict[re.Pattern[str], Any], name: str, kind: str) -> Any:
    """Return the setting of a weight, or None."""
    found = [value for pattern, value in settings.items() if pattern.search(name)]
    if len(found) > 1:
        raise ValueError(f"Multiple matches in {kind} for weight {name}")
    return found[0] if found else None


@export("contrib.model_pruning.Pruning")
class Pruning:
    """Updates all masks of the graph by a schedule.

    Args:
      spec: settings, as `get_pruning_hparams` gives them.
      global_step: the number of the step; that of the graph by default.
      sparsity: which part of the weights is to be zero, a scalar tensor; by default as settings
        say.

    Raises:
      ValueError: for settings that do not fit together.
    """

    def __init__(self, spec: Any = None, global_step: Any = None, sparsity: Any = None) -> None:
        self._spec = spec or get_pruning_hparams()
        _check(self._spec)
        step = get_global_step() if global_step is None else global_step
        self._global_step: Any = tf.cast(step, tf.int32)
        self._sparsity = self._setup_sparsity() if sparsity is None else sparsity
        self._assign_ops: list[Any] = []
        self._last_update_step = self._setup_last_update_step()
        self._block_dims = [self._spec.block_height, self._spec.block_width]
        self._block_dims_map = _by_pattern(self._spec.block_dims_map, _block_dims)
        self._weight_sparsity_map = _by_pattern(self._spec.weight_sparsity_map, _weight_sparsity)

    def _setup_sparsity(self) -> Tensor:
        spec = self._spec
        begin, end = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
        initial, target = spec.initial_sparsity, spec.target_sparsity
        with tf.name_scope(spec.name):
            done = tf.div(tf.cast(self._global_step - begin, tf.float32), end - begin)
            done = tf.minimum(1.0, tf.maximum(0.0, done))
            left = tf.pow(1 - done, spec.sparsity_function_exponent)
            return tf.add(tf.multiply(initial - target, left), target, name="sparsity")

    def _setup_last_update_step(self) -> ScatterMethods:
        """Return the step of the last update, a variable that all `Pruning`s of a name share."""
        with tf.variable_scope(self._spec.name, use_resource=self._spec.use_tpu) as scope:
            try:
                return tf.get_variable(
                    _LAST_UPDATE, [], initializer=tf.zeros_initializer(), trainable=False,
                    dtype=tf.int32,
                )  # fmt: skip
            except ValueError:
                scope.reuse_variables()
                return tf.get_variable(_LAST_UPDATE, dtype=tf.int32)

    def _get_block_dims(self, weight_name: str) -> list[Any]:
        found = _matching(self._block_dims_map, weight_name, "block_dims_map")
        return self._block_dims if found is None else found

    def _get_sparsity(self, weight_name: str) -> Tensor:
        """Return a weight's target share of zeros: scaled, if it has its own target."""
        target = _matching(self._weight_sparsity_map, weight_name, "weight_sparsity_map")
        if target is None:
            return self._sparsity
        return tf.multiply(self._sparsity, tf.div(target, self._spec.target_sparsity))

    def _update_mask(self, weights: Any, threshold: Any) -> tuple[Any, Any]:
        """Return the next threshold, and the mask of weights that are not smaller.

        Args:
          weights: any shape.
          threshold: scalar, the last one.
        """
        if self._sparsity is None:
            raise ValueError("Sparsity variable undefined")
        sparsity = self._get_sparsity(weights.op.name)
        decay = self._spec.threshold_decay
        with tf.name_scope(f"{weights.op.name}_pruning_ops"):
            magnitudes = tf.abs(weights)
            size = tf.cast(tf.size(magnitudes), tf.float32)
            kept = tf.cast(tf.round(size * (1 - sparsity)), tf.int32)
            flat = tf.reshape(magnitudes, [-1])
            values, _ = tf.nn.top_k(flat, k=tf.size(magnitudes))
            current = tf.gather(values, kept - 1)
            smoothed = tf.add_n([tf.multiply(current, 1 - decay), tf.multiply(threshold, decay)])
            mask = tf.cast(tf.greater_equal(magnitudes, smoothed), tf.float32)
        return smoothed, mask

    def _maybe_update_block_mask(self, weights: Any, threshold: Any) -> tuple[Any, Any]:
        """`_update_mask`; of blocks where weights are a matrix and blocks more than a number."""
        dims = self._get_block_dims(weights.op.name)
        squeezed = tf.squeeze(weights)
        if squeezed.get_shape().ndims != 2 or dims == [1, 1]:
            return self._update_mask(weights, threshold)
        rows, columns = squeezed.get_shape().as_list()
        for i, size in enumerate((rows, columns)):
            if dims[i] == -1:
                dims[i] = size  # for other weights as well, as in TensorFlow
        pooling = self._spec.block_pooling_function
        if pooling not in ("AVG", "MAX"):
            raise ValueError(f"Unknown pooling function for block sparsity: {pooling}")
        name = weights.op.name
        with tf.name_scope(f"{name}_pruning_ops"):
            pooled = self._pooled(tf.abs(squeezed), dims, f"{name}_pooled")
            smoothed, mask = self._update_mask(pooled, threshold)
            spread = blocks.expand_tensor(mask, dims)
            sliced = tf.slice(spread, [0, 0], [rows, columns])
        return smoothed, tf.reshape(sliced, tf.shape(weights))

    def _pooled(self, magnitudes: Any, dims: list[Any], name: str) -> Tensor:
        """One number for each block of a matrix."""
        pool: Any = blocks.factorized_pool
        axis = None
        if not self._spec.use_tpu:
            pool, axis = tf.nn.pool, [0, 3]
            magnitudes = tf.reshape(magnitudes, [1, *magnitudes.get_shape().as_list(), 1])
        pooled = pool(
            magnitudes, window_shape=dims, pooling_type=self._spec.block_pooling_function,
            strides=dims, padding="SAME", name=name,
        )  # fmt: skip
        return pooled if pooled.get_shape().ndims == 2 else tf.squeeze(pooled, axis=axis)

    def _get_mask_assign_ops(self) -> None:
        if self._assign_ops:
            raise ValueError("Assign op list not empty. _get_mask_assign_ops() called twice?")
        masks, weights, thresholds = get_masks(), get_weights(), get_thresholds()
        if len(masks) != len(thresholds):
            raise ValueError(
                f"Number of masks {len(masks)} and number of thresholds {len(thresholds)} mismatch"
            )
        for mask, threshold, weight in zip(masks, thresholds, weights, strict=False):
            assign: Any = variable_assign
            if isinstance(weight, PartitionedVariable):
                weight, assign = weight.as_tensor(), partitioned_variable_assign
            new_threshold, new_mask = self._maybe_update_block_mask(weight, threshold)
            self._assign_ops.append(variable_assign(threshold, new_threshold))
            self._assign_ops.append(assign(mask, new_mask))

    def mask_update_op(self) -> Operation:
        """Return an operation that updates all masks."""
        with tf.name_scope(self._spec.name):
            if not self._assign_ops:
                self._get_mask_assign_ops()
            last = tf.assign(
                self._last_update_step, self._global_step, name=f"{_LAST_UPDATE}_assign"
            )
            with tf.control_dependencies([last]), tf.control_dependencies(self._assign_ops):
                tf_logging.info("Updating masks.")
                return tf.no_op("mask_update")

    def conditional_mask_update_op(self) -> Tensor:
        """Return an operation that updates all masks in the steps of the schedule."""
        spec = self._spec
        with tf.name_scope(spec.name):
            is_in_range = tf.logical_and(
                tf.greater_equal(self._global_step, spec.begin_pruning_step),
                tf.logical_or(
                    tf.less_equal(self._global_step, spec.end_pruning_step),
                    tf.less(spec.end_pruning_step, 0),
                ),
            )
            next_step = tf.add(self._last_update_step, spec.pruning_frequency)
            is_due = tf.less_equal(next_step, self._global_step)
            update = tf.logical_and(is_in_range, is_due)
        return tf.cond(update, self.mask_update_op, tf.no_op)

    def add_pruning_summaries(self) -> None:
        """Add summaries of the schedule, and of each mask."""
        with tf.name_scope(f"{self._spec.name}_summaries"):
            tf.summary.scalar("sparsity", self._sparsity)
            tf.summary.scalar(_LAST_UPDATE, self._last_update_step)
            for mask, threshold in zip(get_masks(), get_thresholds(), strict=False):
                tf.summary.scalar(f"{mask.op.name}/sparsity", tf.nn.zero_fraction(mask))
                tf.summary.scalar(f"{threshold.op.name}/threshold", threshold)

    def print_hparams(self) -> None:
        """Log the settings as JSON."""
        tf_logging.info(self._spec.to_json())
