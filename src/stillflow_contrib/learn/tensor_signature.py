"""Signatures of features and labels, to check later ones."""

from __future__ import annotations

from typing import Any, NamedTuple

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.ops.constants import placeholder
from stillflow.ops.io.parsing.features import FixedLenFeature, VarLenFeature
from stillflow.ops.io.parsing.functions import parse_example
from stillflow.ops.math.cast import cast
from stillflow.ops.sparse.placeholders import sparse_placeholder


class _Fields(NamedTuple):
    dtype: DType
    shape: TensorShape | None
    is_sparse: bool


class TensorSignature(_Fields):
    """The type and shape of a tensor, dense or sparse.

    Args:
      tensor: a tensor or `SparseTensor`.
    """

    __slots__ = ()

    def __new__(cls, tensor: Any) -> TensorSignature:
        if isinstance(tensor, SparseTensor):
            return super().__new__(cls, tensor.values.dtype, None, is_sparse=True)
        return super().__new__(cls, tensor.dtype, tensor.get_shape(), is_sparse=False)

    def is_compatible_with(self, other: TensorSignature) -> bool:
        """Return True if tensors of both are interchangeable; batches may differ in length."""
        if self.is_sparse != other.is_sparse or not self.dtype.is_compatible_with(other.dtype):
            return False
        if self.is_sparse:
            return True
        mine, others = as_shape(self.shape), as_shape(other.shape)
        if mine.ndims is None or others.ndims is None:
            return True
        return mine.ndims == others.ndims and bool(mine[1:].is_compatible_with(others[1:]))

    def get_placeholder(self) -> Any:
        """Return a placeholder for batches of any length."""
        if self.is_sparse:
            return sparse_placeholder(dtype=self.dtype)
        return placeholder(dtype=self.dtype, shape=[None, *as_shape(self.shape)[1:]])

    def get_feature_spec(self) -> Any:
        """Return the spec in an `Example`, which has fewer types."""
        dtype = {dtypes.int32: dtypes.int64, dtypes.float64: dtypes.float32}.get(
            self.dtype, self.dtype
        )
        if self.is_sparse:
            return VarLenFeature(dtype=dtype)
        return FixedLenFeature(shape=as_shape(self.shape)[1:], dtype=dtype)


def create_signatures(tensors: Any) -> Any:
    """Return the signature of a tensor, or of tensors by name; None of None."""
    if isinstance(tensors, dict):
        return {name: TensorSignature(tensor) for name, tensor in tensors.items()}
    return None if tensors is None else TensorSignature(tensors)


def tensors_compatible(tensors: Any, signatures: Any) -> bool:
    """Return True if a tensor, or each of those by name, fits its signature."""
    if tensors is None or signatures is None:
        return tensors is signatures
    if isinstance(tensors, dict) != isinstance(signatures, dict):
        return False
    if not isinstance(tensors, dict):
        return TensorSignature(tensors).is_compatible_with(signatures)
    return all(
        name in tensors and TensorSignature(tensors[name]).is_compatible_with(signature)
        for name, signature in signatures.items()
    )


def create_placeholders_from_signatures(signatures: Any) -> Any:
    """Return a placeholder, or placeholders by name; None of None."""
    if isinstance(signatures, dict):
        return {name: signature.get_placeholder() for name, signature in signatures.items()}
    return None if signatures is None else signatures.get_placeholder()


def create_example_parser_from_signatures(
    signatures: Any, examples_batch: Any, single_feature_name: str = "feature"
) -> dict[str, Tensor | SparseTensor]:
    """Return the tensor, or tensors by name, that serialized `Example`s [n] hold."""
    single = not isinstance(signatures, dict)
    by_name = {single_feature_name: signatures} if single else signatures
    specs = {name: signature.get_feature_spec() for name, signature in by_name.items()}
    features = parse_example(examples_batch, specs)
    for name, signature in by_name.items():
        if not signature.dtype.is_compatible_with(features[name].dtype):
            features[name] = cast(features[name], signature.dtype)
    return features[single_feature_name] if single else features
