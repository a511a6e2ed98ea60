"""Mixtures of distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.categorical import Categorical
from stillflow.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from stillflow.distributions.parameters import gen_new_seed
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow_contrib.distributions.mixture_same_family import pad_mixture_dimensions
from stillflow_contrib.distributions.moved import moved_from_contrib


def _check_arguments(cat: Any, components: Any) -> None:
    if not isinstance(cat, Categorical):
        raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
    if not components:
        raise ValueError("components must be a non-empty list or tuple")
    if not isinstance(components, (list, tuple)):
        raise TypeError(f"components must be a list or tuple, but saw: {components}")
    if not all(isinstance(each, Distribution) for each in components):
        raise TypeError(
            f"all entries in components must be Distribution instances but saw: {components}"
        )
    if any(each.dtype != components[0].dtype for each in components):
        dtypes = [(each.name, each.dtype) for each in components]
        raise TypeError(f"All components must have the same dtype, but saw dtypes: {dtypes}")


@export("contrib.distributions.Mixture")
class Mixture(Distribution):
    """Distributions that choose among others.

    Args:
      cat: the `Categorical` that chooses; of the components' batch shape.
      components: a list of distributions of one type and event shape.
      validate_args: whether the graph checks batch shapes.
      allow_nan_stats: see `Distribution`.
      use_static_graph: whether samples are those of all components, most of them masked.
      name: of the scope.

    Raises:
      TypeError: if `cat` or `components` are no such distributions.
      ValueError: if there are no components, or not as many as classes, or if nothing is known of
        the rank of events or the number of classes.
    """

    @moved_from_contrib
    def __init__(
        self,
        cat: Any,
        components: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        parameters = dict(locals())
        _check_arguments(cat, components)
        self._cat, self._components = cat, list(components)
        self._use_static_graph = use_static_graph
        self._merge_shapes()
        with tf.name_scope(name, values=[cat.logits]) as scope:
            count = static_value(cat.event_size)
            if count is None:
                raise ValueError(
                    "Could not infer number of classes from cat and unable to compare this value "
                    "to the number of components passed in."
                )
            if int(count) != len(components):
                raise ValueError(
                    f"cat.num_classes != len(components): {int(count)} vs. {len(components)}"
                )
            self._num_components = int(count)
            shape = cat.batch_shape_tensor()
            rank = tf.size(shape)
            self._assertions = self._checks_of_batches(shape, rank) if validate_args else []
        parents = [x for each in (cat, *components) for x in each._graph_parents]
        super().__init__(
            dtype=components[0].dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=parents,
            name=scope,
        )

    def _merge_shapes(self) -> None:
        event, batch = self._components[0].event_shape, self._cat.batch_shape
        for each in self._components:
            event = event.merge_with(each.event_shape)
            batch = batch.merge_with(each.batch_shape)
        if event.ndims is None:
            raise ValueError(
                "Expected to know rank(event_shape) from components, but none of the components "
                "provide a static number of ndims"
            )
        self._static_event_shape, self._static_batch_shape = event, batch

    def _checks_of_batches(self, shape: Any, rank: Any) -> list[Any]:
        shapes = [each.batch_shape_tensor() for each in self._components]
        ranks = [tf.size(each) for each in shapes]
        return [
            tf.assert_equal(
                expected, found,
                message=f"components[{i}] batch shape must match cat batch shape",
            )
            for expected, all_found in ((rank, ranks), (shape, shapes))
            for i, found in enumerate(all_found)
        ]  # fmt: skip

    @property
    def cat(self) -> Categorical:
        """The distribution of the choice."""
        return self._cat

    @property
    def components(self) -> list[Any]:
        """The components."""
        return self._components

    @property
    def num_components(self) -> int:
        """The number of components."""
        return self._num_components

    def _batch_shape_tensor(self) -> Any:
        return self._cat.batch_shape_tensor()

    def _batch_shape(self) -> TensorShape:
        return self._static_batch_shape

    def _event_shape_tensor(self) -> Any:
        return self._components[0].event_shape_tensor()

    def _event_shape(self) -> TensorShape:
        return self._static_event_shape

    def _weights(self, log: bool) -> list[Any]:
        normalized = (tf.nn.log_softmax if log else tf.nn.softmax)(self.cat.logits)
        return list(tf.unstack(normalized, num=self.num_components, axis=-1))

    def _of_events(self, weights: list[Any]) -> list[Any]:
        """Return the weights, with dimensions for those of an event."""
        found = []
        for weight in weights:
            for _ in range(self._static_event_shape.ndims):
                weight = tf.expand_dims(weight, -1)
            found.append(weight)
        return found

    def _mean(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            means = [each.mean() for each in self.components]
            weights = self._of_events(self._weights(log=False))
            return tf.add_n([w * mean for w, mean in zip(weights, means, strict=True)])

    def _stddev(self) -> Tensor:
        with tf.control_dependencies(self._assertions):
            means = [each.mean() for each in self.components]
            deviations = [each.stddev() for each in self.components]
            parts = self._weights(log=False)
            mean = tf.stack(means, axis=-1)
            deviation = tf.stack(deviations, axis=-1)
            weights = tf.stack(self._of_events(parts), axis=-1) * tf.ones_like(mean)
            rows = [-1, len(self.components)]
            result = _stddev_of_rows(
                tf.reshape(weights, rows), tf.reshape(mean, rows), tf.reshape(deviation, rows)
            )
            return tf.reshape(result, tf.shape(weights)[:-1])

    def _log_sum(self, x: Any, method: str) -> Tensor:
        with tf.control_dependencies(self._assertions):
            x = convert_to_tensor(x, name="x")
            logs = [getattr(each, method)(x) for each in self.components]
            weights = self._weights(log=True)
            weighted = [w + log for w, log in zip(weights, logs, strict=True)]
            return tf.reduce_logsumexp(tf.stack(weighted, axis=0), [0])

    def _log_prob(self, x: Any) -> Tensor:
        return self._log_sum(x, "log_prob")

    def _log_cdf(self, x: Any) -> Tensor:
        return self._log_sum(x, "log_cdf")

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        if self._use_static_graph:
            return self._masked(n, seed)
        with tf.control_dependencies(self._assertions):
            n = convert_to_tensor(n, name="n")
            known = static_value(n)
            n = n if known is None else int(known)
            return self._chosen(n, self.cat.sample(n, seed=seed), seed)

    def _masked(self, n: Any, seed: Any) -> Tensor:
        """Return samples of all components; all but the chosen ones are masked."""
        choices, drawn = self.cat.sample(n, seed=seed), []
        for component in self.components:
            seed = gen_new_seed(seed, "mixture")
            drawn.append(component.sample(n, seed=seed))
        event_ndims = self._static_event_shape.ndims
        x = tf.stack(drawn, -event_ndims - 1)
        number = x.dtype.as_numpy_dtype
        mask = tf.one_hot(
            indices=choices,
            depth=self._num_components,
            on_value=np.ones([], dtype=number),
            off_value=np.zeros([], dtype=number),
        )
        mask = pad_mixture_dimensions(mask, self, self._cat, event_ndims)
        return tf.reduce_sum(x * mask, axis=-1 - event_ndims)

    def _chosen(self, n: Any, choices: Any, seed: Any) -> Tensor:
        """Return samples of the components in `choices` `[n, *batch]`, each of its own batch."""
        static, batch, event = choices.shape, self.batch_shape, self.event_shape
        if static.is_fully_defined():
            shape, size = static.as_list(), static.num_elements()
        else:
            shape, size = tf.shape(choices), tf.size(choices)
        if batch.is_fully_defined():
            batch_size = batch.num_elements()
        else:
            batch_size = tf.reduce_prod(self.batch_shape_tensor())
        known = event.is_fully_defined()
        event_shape = np.array(event.as_list(), np.int32) if known else self.event_shape_tensor()
        places = self._by_component(tf.reshape(tf.range(0, size), shape), choices)
        batches = tf.reshape(tf.tile(tf.range(0, batch_size), [n]), shape)
        batches = self._by_component(batches, choices)
        found = []
        for i, component in enumerate(self.components):
            count = tf.size(places[i])
            seed = gen_new_seed(seed, "mixture")
            drawn = component.sample(count, seed=seed)
            wanted = batch_size * tf.range(count) + batches[i]
            drawn = tf.reshape(drawn, tf.concat([[count * batch_size], event_shape], 0))
            found.append(tf.gather(drawn, wanted, name="samples_class_c_gather"))
        flat = tf.dynamic_stitch(indices=places, data=found)
        result = tf.reshape(flat, tf.concat([shape, self.event_shape_tensor()], 0))
        result.set_shape(TensorShape(static).concatenate(event))
        return result

    def _by_component(self, data: Any, choices: Any) -> list[Tensor]:
        return tf.dynamic_partition(
            data=data, partitions=choices, num_partitions=self.num_components
        )

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Tensor:
        """Return the mean of the components' entropies, below which the entropy does not lie."""
        with (
            self._name_scope(name, values=[self.cat.logits]),
            tf.control_dependencies(self._assertions),
        ):
            entropies = [each.entropy() for each in self.components]
            weights = self._weights(log=False)
            return tf.add_n([w * each for w, each in zip(weights, entropies, strict=True)])


def _stddev_of_rows(weights: Any, means: Any, deviations: Any) -> Tensor:
    """Return the standard deviation of each row of a mixture.

    All arguments are [rows, components].
    """
    weights = tf.expand_dims(weights, axis=1)
    means = tf.expand_dims(means, axis=2)
    deviations = tf.expand_dims(deviations, axis=2)
    mean = tf.reshape(tf.matmul(weights, means), (-1,))
    variance = tf.reshape(tf.matmul(weights, tf.square(deviations)), (-1,))
    square = tf.reshape(tf.matmul(weights, tf.square(means)), (-1,))
    return tf.sqrt(variance + square - tf.square(mean))
