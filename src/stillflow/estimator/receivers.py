"""tf.estimator.export: where the features of an exported model come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.estimator.input_results import features_and_labels
from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_like import is_dense_tensor_like
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.constants import placeholder
from stillflow.ops.io.parsing.functions import parse_example

# The name of a single tensor that stands for a dict of them.
_SINGLE = {
    "feature": "feature",
    "label": "label",
    "receiver_tensor": "input",
    "receiver_tensors_alternative": "input",
}


def named_tensors(tensors: Any, field: str, int_keys: bool = False) -> dict[Any, Any]:
    """Return tensors by name; one that is no dict has the name of its field."""
    if tensors is None:
        raise ValueError(f"{field}s must be defined.")
    if not isinstance(tensors, dict):
        tensors = {_SINGLE[field]: tensors}
    for name, tensor in tensors.items():
        if not isinstance(name, (str, int) if int_keys else str):
            kinds = "strings or ints" if int_keys else "strings"
            raise ValueError(f"{field} keys must be {kinds}: {name}.")
        _check_tensor(tensor, f"{field} {name}")
    return tensors


def _check_tensor(tensor: Any, name: str) -> None:
    if not (isinstance(tensor, SparseTensor) or is_dense_tensor_like(tensor)):
        raise ValueError(f"{name} must be a Tensor or SparseTensor.")


class _Receiver(NamedTuple):
    features: Any
    receiver_tensors: Any
    receiver_tensors_alternatives: Any


@export("estimator.export.ServingInputReceiver")
class ServingInputReceiver(_Receiver):
    """Feeds of a served model, and the features made from them.

    Args:
      features: {name: tensor}; a tensor is named "feature".
      receiver_tensors: {name: placeholder}; a tensor is named "input".
      receiver_tensors_alternatives: {name: more of them}, other ways into the graph.

    Raises:
      ValueError: if something is missing, no tensor, or has a name of another type.
    """

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> ServingInputReceiver:
        features = named_tensors(features, "feature", int_keys=True)
        receiver_tensors = named_tensors(receiver_tensors, "receiver_tensor")
        alternatives = receiver_tensors_alternatives
        if alternatives is not None:
            if not isinstance(alternatives, dict):
                raise ValueError(f"receiver_tensors_alternatives must be a dict: {alternatives}.")
            for name, tensors in alternatives.items():
                alternatives[name] = named_tensors(tensors, "receiver_tensors_alternative")
        return super().__new__(cls, features, receiver_tensors, alternatives)


@export("estimator.export.TensorServingInputReceiver")
class TensorServingInputReceiver(_Receiver):
    """`ServingInputReceiver` for a model whose features are one tensor, not a dict.

    Args:
      features: the tensor.
      receiver_tensors, receiver_tensors_alternatives: as there.

    Raises:
      ValueError: as there.
    """

    __slots__ = ()

    def __new__(
        cls, features: Any, receiver_tensors: Any, receiver_tensors_alternatives: Any = None
    ) -> TensorServingInputReceiver:
        if features is None:
            raise ValueError("features must be defined.")
        _check_tensor(features, "feature")
        given = ServingInputReceiver(features, receiver_tensors, receiver_tensors_alternatives)
        return super().__new__(cls, features, *given[1:])


class _Supervised(NamedTuple):
    features: Any
    labels: Any
    receiver_tensors: Any


class SupervisedInputReceiver(_Supervised):
    """Feeds of an exported graph of training or evaluation, with features and labels.

    Args:
      features, labels: a tensor, or {name: tensor}.
      receiver_tensors: {name: placeholder}.

    Raises:
      ValueError: as in `ServingInputReceiver`.
    """

    __slots__ = ()

    def __new__(cls, features: Any, labels: Any, receiver_tensors: Any) -> SupervisedInputReceiver:
        named_tensors(features, "feature", int_keys=True)
        named_tensors(labels, "label", int_keys=True)
        receiver_tensors = named_tensors(receiver_tensors, "receiver_tensor")
        return super().__new__(cls, features, labels, receiver_tensors)


@export("estimator.export.build_parsing_serving_input_receiver_fn")
def build_parsing_serving_input_receiver_fn(
    feature_spec: Any, default_batch_size: int | None = None
) -> Callable[[], Any]:
    """Return a function that makes a receiver of serialized `Example`s.

    Args:
      feature_spec: what to parse, as for `tf.parse_example`.
      default_batch_size: how many examples; any number if None.
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        examples = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        features = parse_example(examples, feature_spec)
        return ServingInputReceiver(features, {"examples": examples})

    return serving_input_receiver_fn


@export("estimator.export.build_raw_serving_input_receiver_fn")
def build_raw_serving_input_receiver_fn(
    features: dict[str, Any], default_batch_size: int | None = None
) -> Callable[[], Any]:
    """Return a function that makes a receiver of the features themselves.

    Args:
      features: {name: tensor} of the types and shapes to take; the first dimension is the batch.
      default_batch_size: its size; any if None.
    """

    def serving_input_receiver_fn() -> ServingInputReceiver:
        fed = _placeholders(features, default_batch_size)
        return ServingInputReceiver(fed, fed)

    return serving_input_receiver_fn


@export("estimator.experimental.build_raw_supervised_input_receiver_fn")
def build_raw_supervised_input_receiver_fn(
    features: Any, labels: Any, default_batch_size: int | None = None
) -> Callable[[], Any]:
    """Return a function that makes a receiver of features and labels themselves.

    Args:
      features, labels: a tensor, or {name: tensor}, of the types and shapes to take.
      default_batch_size: the size of the batch; any if None.

    Raises:
      ValueError: if a feature and a label have the same name.
    """
    feature_keys = features.keys() if isinstance(features, dict) else [_SINGLE["receiver_tensor"]]
    label_keys = labels.keys() if isinstance(labels, dict) else [_SINGLE["label"]]
    overlap = set(feature_keys) & set(label_keys)
    if overlap:
        raise ValueError(
            f"Features and labels must have distinct keys. Found overlapping keys: {overlap}"
        )

    def supervised_input_receiver_fn() -> SupervisedInputReceiver:
        fed, receivers = [], {}
        for tensors, single in ((features, "input"), (labels, "label")):
            made = _placeholders(
                tensors if isinstance(tensors, dict) else {single: tensors}, default_batch_size
            )
            receivers.update(made)
            fed.append(made if isinstance(tensors, dict) else made[single])
        return SupervisedInputReceiver(fed[0], fed[1], receivers)

    return supervised_input_receiver_fn


def build_supervised_input_receiver_fn_from_input_fn(
    input_fn: Callable[..., Any], **input_fn_args: Any
) -> Callable[[], Any]:
    """Return a receiver function like above, for the features of an input function."""
    with Graph().as_default():
        features, labels, _ = features_and_labels(input_fn(**input_fn_args))
    return build_raw_supervised_input_receiver_fn(features, labels)


def _placeholders(tensors: dict[str, Any], batch_size: int | None) -> dict[str, Any]:
    return {name: _placeholder(tensor, batch_size) for name, tensor in tensors.items()}


def _placeholder(tensor: Any, batch_size: int | None) -> Tensor:
    shape = TensorShape([batch_size]).concatenate(tensor.get_shape()[1:])
    name = tensor.op.name if isinstance(tensor, Tensor) else None
    return placeholder(tensor.dtype, shape, name=name)
