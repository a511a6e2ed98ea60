"""Signatures: which tensors of a graph its users feed and fetch, under which names."""

from __future__ import annotations

from functools import partial
from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.protos import SignatureDef, StructuredValue, TensorInfo
from stillflow.saved_model import names
from stillflow.saved_model.structures import decode, encode

_V1_ONLY = (
    "This function will only be available through the v1 compatibility library as "
    "tf.compat.v1.saved_model.utils.{0} or tf.compat.v1.saved_model.{0}."
)


@export("saved_model.build_tensor_info", "saved_model.utils.build_tensor_info")
def build_tensor_info(tensor: Any) -> Any:
    """Return a `TensorInfo` that names a tensor, its type and shape.

    Args:
      tensor: A `Tensor`, or a composite such as a `SparseTensor`.

    Raises:
      RuntimeError: in eager execution.
    """
    if executing_eagerly():
        raise RuntimeError("build_tensor_info is not supported in Eager mode.")
    return tensor_info(tensor)


def tensor_info(tensor: Any) -> Any:
    """Return a `TensorInfo`; see `build_tensor_info`."""
    if isinstance(tensor, SparseTensor):
        parts = "values", "indices", "dense_shape"
        names = {f"{part}_tensor_name": getattr(tensor, part).name for part in parts}
        named: dict[str, Any] = {"coo_sparse": names}
    elif isinstance(tensor, CompositeTensor):
        return _composite_info(tensor)
    else:
        named = {"name": tensor.name}
    kind, size = dtypes.as_dtype(tensor.dtype), tensor.get_shape()
    return TensorInfo(dtype=kind.as_datatype_enum, tensor_shape=size.as_proto(), **named)


def _composite_info(tensor: CompositeTensor) -> Any:
    parts = nest.flatten(tensor, expand_composites=True)
    return TensorInfo(composite_tensor={
        "type_spec": encode(tensor._type_spec).type_spec_value,
        "components": [tensor_info(part) for part in parts],
    })  # fmt: skip


def tensor_info_of_op(op: Operation) -> Any:
    """Return a `TensorInfo` that names an operation."""
    return TensorInfo(dtype=0, tensor_shape={"unknown_rank": True}, name=op.name)


@export("saved_model.get_tensor_from_tensor_info", "saved_model.utils.get_tensor_from_tensor_info")
def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Any = None, import_scope: str | None = None
) -> Any:
    """Return the tensor that a `TensorInfo` names.

    Args:
      tensor_info: The message.
      graph: The graph, by default the default one.
      import_scope: The scope that the graph was imported under.

    Raises:
      KeyError: If there is no such tensor.
      ValueError: If the message names none.
    """
    graph = graph or get_default_graph()

    def tensor(name: str) -> Any:
        full = f"{import_scope}/{name}" if import_scope else name
        return graph.as_graph_element(full, allow_tensor=True, allow_operation=False)

    encoding = tensor_info.WhichOneof("encoding")
    if encoding == "name":
        return tensor(tensor_info.name)
    if encoding == "coo_sparse":
        sparse = tensor_info.coo_sparse
        return SparseTensor(
            tensor(sparse.indices_tensor_name),
            tensor(sparse.values_tensor_name),
            tensor(sparse.dense_shape_tensor_name),
        )
    if encoding == "composite_tensor":
        composite = tensor_info.composite_tensor
        spec = decode(StructuredValue(type_spec_value=composite.type_spec))
        return spec._from_components([tensor(part.name) for part in composite.components])
    raise ValueError(f"Invalid TensorInfo.encoding: {encoding}")


@export("saved_model.build_signature_def", "saved_model.signature_def_utils.build_signature_def")
def build_signature_def(
    inputs: Any = None, outputs: Any = None, method_name: str | None = None
) -> Any:
    """Return a `SignatureDef`.

    Args:
      inputs, outputs: `TensorInfo`s by name.
      method_name: What it does, one of `tf.saved_model.*_METHOD_NAME`.
    """
    signature = SignatureDef()
    for target, given in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for name, info in (given or {}).items():
            target[name].CopyFrom(info)
    if method_name is not None:
        signature.method_name = method_name
    return signature


@export(
    "saved_model.regression_signature_def",
    "saved_model.signature_def_utils.regression_signature_def",
)
def regression_signature_def(examples: Any, predictions: Any) -> Any:
    """Return the signature of a regression: examples in, float32 predictions out.

    Raises:
      ValueError: If a tensor is missing or of the wrong type.
    """
    if examples is None:
        raise ValueError("Regression examples cannot be None.")
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    info = _input_info(examples, "Regression")
    result = tensor_info(predictions)
    if result.dtype != dtypes.float32.as_datatype_enum:
        raise ValueError("Regression output must be a float Tensor.")
    return build_signature_def(
        {names.REGRESS_INPUTS: info}, {names.REGRESS_OUTPUTS: result}, names.REGRESS_METHOD_NAME
    )


@export(
    "saved_model.classification_signature_def",
    "saved_model.signature_def_utils.classification_signature_def",
)
def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """Return the signature of a classification: examples in, names of classes and scores out.

    Raises:
      ValueError: If a tensor is missing or of the wrong type.
    """
    if examples is None:
        raise ValueError("Classification examples cannot be None.")
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    info = _input_info(examples, "Classification")
    outputs = {}
    if classes is not None:
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = tensor_info(classes)
        if tensor_info(classes).dtype != dtypes.string.as_datatype_enum:
            raise ValueError("Classification classes must be a string Tensor.")
    if scores is not None:
        outputs[names.CLASSIFY_OUTPUT_SCORES] = tensor_info(scores)
        if tensor_info(scores).dtype != dtypes.float32.as_datatype_enum:
            raise ValueError("Classification scores must be a float Tensor.")
    return build_signature_def({names.CLASSIFY_INPUTS: info}, outputs, names.CLASSIFY_METHOD_NAME)


def _input_info(examples: Any, what: str) -> Any:
    from stillflow.graph.operation import Tensor

    if not isinstance(examples, Tensor):
        raise ValueError(f"{what} examples must be a string Tensor.")
    info = tensor_info(examples)
    if info.dtype != dtypes.string.as_datatype_enum:
        raise ValueError(f"{what} examples must be a string Tensor.")
    return info


@export(
    "saved_model.predict_signature_def", "saved_model.signature_def_utils.predict_signature_def"
)
def predict_signature_def(inputs: Any, outputs: Any) -> Any:
    """Return the signature of anything: tensors in and out, by name.

    Raises:
      ValueError: If there are none.
    """
    if inputs is None or not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if outputs is None or not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return build_signature_def(
        {name: tensor_info(tensor) for name, tensor in inputs.items()},
        {name: tensor_info(tensor) for name, tensor in outputs.items()},
        names.PREDICT_METHOD_NAME,
    )


def supervised_signature_def(
    method_name: str, inputs: Any, loss: Any, predictions: Any = None, metrics: Any = None
) -> Any:
    """Return the signature of training or evaluation: inputs, loss, predictions and metrics."""
    if inputs is None or not inputs:
        raise ValueError(f"{method_name} inputs cannot be None or empty.")
    outputs = {**(loss or {}), **(predictions or {}), **(metrics or {})}
    return build_signature_def(
        {name: tensor_info(tensor) for name, tensor in inputs.items()},
        {name: tensor_info(tensor) for name, tensor in outputs.items()},
        method_name,
    )


supervised_train_signature_def = partial(
    supervised_signature_def, names.SUPERVISED_TRAIN_METHOD_NAME
)
supervised_eval_signature_def = partial(supervised_signature_def, names.SUPERVISED_EVAL_METHOD_NAME)


@export("saved_model.is_valid_signature", "saved_model.signature_def_utils.is_valid_signature")
def is_valid_signature(signature_def: Any) -> bool:
    """Return True if a server can serve a signature."""
    if signature_def is None:
        return False
    inputs, outputs = dict(signature_def.inputs), dict(signature_def.outputs)
    method = signature_def.method_name
    string, number = dtypes.string.as_datatype_enum, dtypes.float32.as_datatype_enum
    if method == names.PREDICT_METHOD_NAME:
        return bool(inputs) and bool(outputs)
    if method == names.REGRESS_METHOD_NAME:
        return _types(inputs) == {names.REGRESS_INPUTS: string} and _types(outputs) == {
            names.REGRESS_OUTPUTS: number
        }
    if method == names.CLASSIFY_METHOD_NAME:
        allowed = {names.CLASSIFY_OUTPUT_CLASSES: string, names.CLASSIFY_OUTPUT_SCORES: number}
        return (
            _types(inputs) == {names.CLASSIFY_INPUTS: string}
            and bool(outputs)
            and _types(outputs).items() <= allowed.items()
        )
    return False


def _types(infos: dict[str, Any]) -> dict[str, int]:
    return {name: info.dtype for name, info in infos.items()}


def op_signature_def(op: Operation, key: str) -> Any:
    """Return a signature whose only output is an operation."""
    return build_signature_def(outputs={key: tensor_info_of_op(op)})


def load_op_from_signature_def(
    signature: Any, key: str, import_scope: str | None = None
) -> Tensor | Operation:
    """Return the operation that such a signature names, or raise NotFoundError."""
    from stillflow import errors

    name = signature.outputs[key].name
    try:
        full = f"{import_scope}/{name}" if import_scope else name
        return get_default_graph().as_graph_element(full, allow_tensor=True, allow_operation=True)
    except KeyError as error:
        raise errors.not_found(
            f"The {key} could not be found in the graph. Please make sure the SavedModel was "
            f"created by the internal _SavedModelBuilder.\n{error}"
        ) from None
