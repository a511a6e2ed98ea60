"""`tf.data.Dataset` as TensorFlow 1 has it: with iterators that are made by hand."""

from __future__ import annotations

import abc
import functools
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow.data import dataset as base
from stillflow.data import structure
from stillflow.data.dataset import DatasetV2
from stillflow.graph.api import colocate_with
from stillflow.graph.dtypes import DType
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.platform import tf_logging as logging
from stillflow.util.notices import noticed

if TYPE_CHECKING:
    from stillflow.data.iterator import Iterator, IteratorV2
    from stillflow.data.mapping import FilterDataset


_ITERATE = (
    "Use `for ... in dataset:` to iterate over a dataset. If using `tf.estimator`, return the "
    "`Dataset` object directly from your input function. As a last resort, you can use "
    "`tf.compat.v1.data.make_{}_iterator(dataset)`."
)


@export("data.Dataset")
class DatasetV1(DatasetV2):
    """A row of elements: `tf.data.Dataset.from_tensor_slices(x).shuffle(100).batch(32)`.

    Elements are tensors or structures (tuples, named tuples, dicts) of tensors, sparse tensors or
    datasets. An iterator (`make_one_shot_iterator`, `make_initializable_iterator`) walks it.

    Example:
      >>> dataset = tf.data.Dataset.range(6).map(lambda x: x * x).batch(3)
      >>> batch = dataset.make_one_shot_iterator().get_next()
      >>> with tf.Session() as sess: print(sess.run(batch), sess.run(batch))
      [0 1 4] [ 9 16 25]
    """

    def __init__(self) -> None:
        try:
            variant_tensor = self._as_variant_tensor()
        except AttributeError as error:
            if "_as_variant_tensor" in str(error):
                raise AttributeError(
                    "Please use _variant_tensor instead of _as_variant_tensor() to obtain the "
                    "variant associated with a dataset"
                ) from None
            raise AttributeError(
                f"{error}: A likely cause of this error is that the super call for this dataset "
                "is not the last line of the __init__ method. The base class causes the "
                "_as_variant_tensor call in its constructor and if that uses attributes defined "
                "in the __init__ method, those attrs need to be defined before the super call."
            ) from None
        super().__init__(variant_tensor)

    @abc.abstractmethod
    def _as_variant_tensor(self) -> Any:
        """Return the scalar variant tensor that holds the dataset."""

    @noticed("data.Dataset")
    def make_one_shot_iterator(self) -> Any:
        """Return an iterator that needs no initialization and walks the dataset once.

        Raises:
          ValueError: if the dataset depends on state, such as variables.
        """
        return self._make_one_shot_iterator()

    def _make_one_shot_iterator(self) -> Any:
        from stillflow.data.iterator import Iterator, IteratorV2
        from stillflow.data.one_shot import dataset_factory
        from stillflow.ops.data.iterators import one_shot_iterator_op

        if executing_eagerly():
            return IteratorV2(self)
        _ensure_same_dataset_graph(self)
        factory = dataset_factory(self)
        resource = one_shot_iterator_op(dataset_factory=factory, **self._flat_structure)
        return Iterator(resource, None, *base.legacy_structure(self))

    @noticed("data.Dataset")
    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """Return an iterator that starts whenever its `initializer` runs.

        Args:
          shared_name: under which sessions of one server share it.
        """
        return self._make_initializable_iterator(shared_name)

    def _make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        from stillflow.data.iterator import Iterator
        from stillflow.ops.data.iterators import iterator_v2_op, make_iterator_op

        if executing_eagerly():
            raise RuntimeError(
                "dataset.make_initializable_iterator is not supported when eager execution is "
                "enabled."
            )
        _ensure_same_dataset_graph(self)
        dataset = self._apply_options()
        resource = iterator_v2_op(
            container="", shared_name=shared_name or "", **self._flat_structure
        )
        with colocate_with(resource):
            initializer = make_iterator_op(dataset._variant_tensor, resource)
        return Iterator(resource, initializer, *base.legacy_structure(dataset))

    @property
    @noticed("data.Dataset")
    def output_classes(self) -> type[Any]:
        """The classes of the components of elements."""
        return base._legacy("classes", self)

    @property
    @noticed("data.Dataset")
    def output_shapes(self) -> TensorShape:
        """The static shapes of the components of elements."""
        return base._legacy("shapes", self)

    @property
    @noticed("data.Dataset")
    def output_types(self) -> DType:
        """The dtypes of the components of elements."""
        return base._legacy("types", self)

    @property
    def element_spec(self) -> Any:
        """The type of the elements."""
        return structure.convert_legacy_structure(
            self.output_types, self.output_shapes, self.output_classes
        )

    @staticmethod
    @noticed("data.Dataset")
    def from_sparse_tensor_slices(sparse_tensor: Any) -> DatasetV1Adapter:
        """Return a dataset of the rows of a sparse tensor: indices, values and shape of each."""
        from stillflow.data.sources import SparseTensorSliceDataset

        return DatasetV1Adapter(SparseTensorSliceDataset(sparse_tensor))

    @functools.wraps(DatasetV2.map)
    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Any:  # type: ignore[override]
        return _mapped(self, map_func, num_parallel_calls, False)

    @noticed("data.Dataset")
    def map_with_legacy_function(
        self, map_func: Callable[..., Any], num_parallel_calls: Any = None
    ) -> DatasetV1Adapter:
        """`map`, with a function of the kind of `tf.contrib.framework.Defun`."""
        return _mapped(self, map_func, num_parallel_calls, True)

    @noticed("data.Dataset")
    def filter_with_legacy_function(self, predicate: Callable[..., Any]) -> FilterDataset:
        """`filter`, with a function of the kind of `tf.contrib.framework.Defun`."""
        from stillflow.data.mapping import FilterDataset

        return FilterDataset(self, predicate, use_legacy_function=True)


def _mapped(dataset: Any, function: Any, calls: Any, legacy: bool) -> DatasetV1Adapter:
    from stillflow.data.mapping import MapDataset, ParallelMapDataset

    if calls is None:
        return DatasetV1Adapter(MapDataset(dataset, function, use_legacy_function=legacy))
    return DatasetV1Adapter(
        ParallelMapDataset(dataset, function, calls, use_legacy_function=legacy)
    )


Dataset = DatasetV1


class DatasetV1Adapter(DatasetV1):
    """A dataset with the methods of TensorFlow 1."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        super().__init__()

    def _as_variant_tensor(self) -> Tensor:
        return self._dataset._variant_tensor

    def _has_captured_ref(self) -> bool:
        return bool(self._dataset._has_captured_ref())

    def _inputs(self) -> list[Any]:
        inputs: list[Any] = self._dataset._inputs()
        return inputs

    def _functions(self) -> list[Any]:
        functions: list[Any] = self._dataset._functions()
        return functions

    def options(self) -> Any:
        return self._dataset.options()

    @property
    def element_spec(self) -> Any:
        return self._dataset.element_spec

    def __iter__(self) -> IteratorV2:
        return iter(self._dataset)


_SOURCES = ("from_tensors", "from_tensor_slices", "from_generator", "range", "zip", "list_files")
_TRANSFORMATIONS = (
    "concatenate", "prefetch", "repeat", "shuffle", "cache", "take", "skip", "shard", "batch",
    "padded_batch", "flat_map", "interleave", "filter", "apply", "window", "with_options",
)  # fmt: skip


def _adapted(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> DatasetV1Adapter:
        return DatasetV1Adapter(method(*args, **kwargs))

    return call


for _name in _SOURCES:
    setattr(DatasetV1, _name, staticmethod(_adapted(getattr(DatasetV2, _name))))
for _name in _TRANSFORMATIONS:
    setattr(DatasetV1, _name, _adapted(getattr(DatasetV2, _name)))


def _ensure_same_dataset_graph(dataset: Any) -> None:
    """Warns of datasets that were made in another graph."""
    graph = get_default_graph()
    waiting, seen = deque([dataset]), []
    while waiting:
        one = waiting.popleft()
        seen.append(one)
        if one._graph is not graph:
            logging.warning(
                f"The graph ({graph}) of the iterator is different from the graph ({one._graph}) "
                f"the dataset: {one._variant_tensor} was created in. If you are using the "
                "Estimator API, make sure that no part of the dataset returned by the `input_fn` "
                "function is defined outside the `input_fn` function. Please ensure that all "
                "datasets in the pipeline are created in the same graph as the iterator. NOTE: "
                "This warning will become an error in future versions of TensorFlow."
            )
        waiting.extend(d for d in one._inputs() if not any(d is other for other in seen))


@export("data.make_one_shot_iterator")
def make_one_shot_iterator(dataset: Any) -> Iterator:
    """Return an iterator that needs no initialization and walks a dataset once."""
    if not hasattr(dataset, "_make_one_shot_iterator"):
        dataset = DatasetV1Adapter(dataset)
    return dataset._make_one_shot_iterator()


@export("data.make_initializable_iterator")
def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """Return an iterator that starts whenever its `initializer` runs.

    Args:
      dataset: what it walks.
      shared_name: under which sessions of one server share it.
    """
    if not hasattr(dataset, "_make_initializable_iterator"):
        dataset = DatasetV1Adapter(dataset)
    return dataset._make_initializable_iterator(shared_name)
