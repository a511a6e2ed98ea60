"""ParseSingleSequenceExample and ParseSequenceExample."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.io.parsing import columns, wire
from stillflow.ops.io.parsing.columns import Dense, Sparse, refuse
from stillflow.ops.io.parsing.example_parser import picker
from stillflow.ops.io.parsing.examples import dense_shapes, features_of
from stillflow.ops.kernels import copied

_ATTRS = """
    Ncontext_sparse: int >= 0 = 0
    Ncontext_dense: int >= 0 = 0
    Nfeature_list_sparse: int >= 0 = 0
    Nfeature_list_dense: int >= 0 = 0
    context_sparse_types: list({float, int64, string}) >= 0 = []
    Tcontext_dense: list({float, int64, string}) >= 0 = []
    feature_list_dense_types: list({float, int64, string}) >= 0 = []
    context_dense_shapes: list(shape) >= 0 = []
    feature_list_sparse_types: list({float, int64, string}) >= 0 = []
    feature_list_dense_shapes: list(shape) >= 0 = []
"""
_SPARSE = "{0}_sparse_indices: N{0}_sparse*int64, {0}_sparse_values: [{0}_sparse_types], "
_SPARSE += "{0}_sparse_shapes: N{0}_sparse*int64, "
_OUTPUTS = (
    _SPARSE.format("context")
    + "context_dense_values: [Tcontext_dense], "
    + _SPARSE.format("feature_list")
    + "feature_list_dense_values: [feature_list_dense_types]"
)
_KEYS = ("context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense")
parse_single_sequence_example_op = op(
    "ParseSingleSequenceExample(serialized: string, "
    "feature_list_dense_missing_assumed_empty: string, "
    + "".join(f"{kind}_keys: N{kind}*string, " for kind in _KEYS)
    + f"context_dense_defaults: [Tcontext_dense], debug_name: string) -> ({_OUTPUTS}){_ATTRS}",
    differentiable=False,
)
parse_sequence_example_op = op(
    "ParseSequenceExample(serialized: string, debug_name: string, "
    f"context_dense_defaults: [Tcontext_dense]) -> ({_OUTPUTS}, "
    "feature_list_dense_lengths: Nfeature_list_dense*int64)\n"
    "feature_list_dense_missing_assumed_empty: list(string) >= 0\n"
    + "".join(f"{kind}_keys: list(string) >= 0\n" for kind in _KEYS)
    + _ATTRS.lstrip("\n"),
    differentiable=False,
)


def _sparse_dims(count: int, rank: int) -> list[Dims]:
    return [(None, rank)] * count + [(None,)] * count + [(rank,)] * count


@parse_single_sequence_example_op.shape
def parse_single_sequence_example_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 0)
    lists = [dims_lib.concat((None,), s) for s in dense_shapes(node, "feature_list_dense_shapes")]
    return [
        *_sparse_dims(node.Ncontext_sparse, 1),
        *dense_shapes(node, "context_dense_shapes"),
        *_sparse_dims(node.Nfeature_list_sparse, 2),
        *lists,
    ]


@parse_sequence_example_op.shape
def parse_sequence_example_shape(node: Node) -> OutputDims:
    batch = dims_lib.with_rank(node.dims(0), 1)
    context = dense_shapes(node, "context_dense_shapes")
    lists = dense_shapes(node, "feature_list_dense_shapes")
    return [
        *_sparse_dims(node.Ncontext_sparse, 2),
        *[dims_lib.concat(batch, shape) for shape in context],
        *_sparse_dims(node.Nfeature_list_sparse, 3),
        *[dims_lib.concat((*batch, None), shape) for shape in lists],
        *[batch] * len(lists),
    ]


class _Wanted:
    """Requested features of sequence examples."""

    def __init__(self, kinds: Sequence[Any], keys: Sequence[Sequence[Any]]) -> None:
        self.context_sparse, self.context_dense = features_of(
            keys[0], kinds[0], keys[1], kinds[1], kinds[2]
        )
        self.list_sparse, self.list_dense = features_of(
            keys[2], kinds[3], keys[3], kinds[4], kinds[5]
        )
        self._pick_context = picker(
            [f.key for f in self.context_sparse] + [f.key for f in self.context_dense]
        )
        self._list_keys = [f.key for f in self.list_sparse] + [f.key for f in self.list_dense]
        self.message = wire.messages()[1]

    def read(self, text: bytes) -> tuple[Any, list[Any]]:
        """Return the bytes of context features, and lists of those of the others.

        None stands for a dense feature that the context does not have, and for a list.
        """
        try:
            example = self.message.FromString(text)
        except Exception:
            shown = text.decode("utf-8", "backslashreplace")
            raise refuse(f"Could not parse example input, value: '{shown}'") from None
        lists = example.feature_lists.feature_list
        found = [list(lists[k].feature) if k in lists else None for k in self._list_keys]
        features = example.context.feature
        absent = [i for i, f in enumerate(self.context_dense) if f.key not in features]
        context: list[Any] = list(self._pick_context(features))
        for place in absent:
            context[len(self.context_sparse) + place] = None
        return context, found


def _types_and_shapes(node: Node) -> tuple[Any, ...]:
    """Return types of sparse features, types and shapes of dense ones; of the context, of lists."""
    return (
        node.context_sparse_types, node.Tcontext_dense, dense_shapes(node, "context_dense_shapes"),
        node.feature_list_sparse_types, node.feature_list_dense_types,
        dense_shapes(node, "feature_list_dense_shapes"),
    )  # fmt: skip


def _decoded(raws: Sequence[bytes], feature: Sparse | Dense, where: columns.Where) -> wire.Decoded:
    try:
        return wire.decode(raws, cpp_name(feature.dtype))
    except (wire.Damaged, wire.WrongKind) as error:
        raise _refused(error, raws[error.index], feature, where(error.index)) from None


def _context_values(feature: Sparse | Dense, raw: bytes, name: str) -> np.ndarray:
    try:
        return wire.decode_one(raw, cpp_name(feature.dtype))
    except (wire.Damaged, wire.WrongKind) as error:
        where = f"Name: {name}, Context feature: {feature.key}.  "
        raise _refused(error, raw, feature, where) from None


def _refused(
    error: wire.Damaged | wire.WrongKind, raw: bytes, feature: Sparse | Dense, where: str
) -> errors.OpError:
    from stillflow.protos import Feature

    if isinstance(error, wire.Damaged):
        return refuse(f"{where}Can't parse serialized Example.")
    return refuse(
        f"{where}Data types don't match. Expected type: {cpp_name(feature.dtype)}  Feature is: "
        f"{Feature.FromString(raw)}"
    )


def _check_count(feature: Dense, count: int, index: int, name: str) -> None:
    if count != feature.size:
        kind = cpp_name(feature.dtype)
        key, kind, values = ("Key", "bytes", "Values") if kind == "string" else (
            "Key:", kind, "values"
        )  # fmt: skip
        raise refuse(
            f"Name: {name}, {key} {feature.key}, Index: {index}.  Number of {kind} values != "
            f"expected.  {values} size: {count} but output shape: {shape_text(feature.shape)}"
        )


def _one_dense(feature: Dense, raw: bytes | None, default: Any, name: str) -> torch.Tensor:
    if raw is None:
        if not int(np.prod(default.shape)):
            raise refuse(
                f"Name: {name}, Context feature '{feature.key}' is required but could not be found."
            )
        return copied(default)
    if not raw:
        where = f"Name: {name}, Context feature: {feature.key}.  "
        raise _refused(wire.WrongKind(0, "none"), raw, feature, where)
    values = _context_values(feature, raw, name)
    _check_count(feature, len(values), 0, name)
    return columns.as_tensor(values, feature.row_shape)


def _check_list(feature: Dense, raws: Any, optional: Any, name: str) -> list[bytes]:
    if raws is None and feature.key not in optional:
        raise refuse(
            f"Name: {name}, Feature list '{feature.key}' is required but could not be found.  "
            "Did you mean to include it in feature_list_dense_missing_assumed_empty or "
            "feature_list_dense_defaults?"
        )
    return raws or []


def _list_values(feature: Dense, raws: list[bytes], name: str) -> wire.Decoded:
    def where(index: int) -> str:
        return f"Name: {name}, Feature list: {feature.key}, Index: {index}.  "

    found = _decoded(raws, feature, where)
    if not all(raws):  # the feature has no values of any type
        index = raws.index(b"")
        raise _refused(wire.WrongKind(index, "none"), b"", feature, where(index))
    wrong = np.flatnonzero(found.counts != feature.size)
    if len(wrong):
        _check_count(feature, int(found.counts[wrong[0]]), int(wrong[0]), name)
    return found


@parse_single_sequence_example_op.kernel
def parse_single_sequence_example_kernel(node: Node) -> Kernel:
    counts = [node.op.attrs[f"N{kind}"] for kind in _KEYS]
    bare = len(node.outputs) == 1
    kinds, facts = np.repeat(range(4), counts).tolist(), _types_and_shapes(node)

    def wanted(keys: Sequence[Any]) -> _Wanted:
        groups: list[list[Any]] = [[], [], [], []]
        for kind, key in zip(kinds, keys, strict=True):
            groups[kind].append(key.item())
        return _Wanted(facts, groups)

    known = [node.value(2 + i) for i in range(len(kinds))]
    ready = wanted(known) if all(key is not None for key in known) else None

    def parse(text: Any, optional: Any, *rest: Any) -> torch.Tensor | list[torch.Tensor | Array]:
        made = ready or wanted(rest[: len(kinds)])
        defaults, label = rest[len(kinds) : -1], rest[-1]
        name = label.item().decode() if label.size else "<unknown>"
        outputs = _parse_one(made, text.item(), _texts(optional.tolist()), defaults, name)
        return outputs[0] if bare else outputs

    return parse


def _texts(keys: Sequence[bytes]) -> set[str]:
    return {key.decode() for key in keys}


def _parse_one(
    made: _Wanted, text: bytes, optional: set[str], defaults: Sequence[Any], name: str
) -> list[Any]:
    context, lists = made.read(text)
    count = len(made.context_sparse)
    triples = [
        columns.sparse_vector(_context_values(f, raw, name))
        for f, raw in zip(made.context_sparse, context, strict=False)
    ]
    outputs = _transposed(triples)
    for f, raw, default in zip(made.context_dense, context[count:], defaults, strict=True):
        outputs.append(_one_dense(f, raw, default, name))
    triples = []
    for sparse, raws in zip(made.list_sparse, lists, strict=False):
        before = f"Name: {name}, Feature List: {sparse.key}, Index: "
        found = _decoded(raws or [], sparse, partial("{}{}.  ".format, before))
        triples += columns.sparse_columns(columns.as_block(found, raws or []))
    outputs += _transposed(triples)
    for f, raws in zip(made.list_dense, lists[len(made.list_sparse) :], strict=True):
        rows = _check_list(f, raws, optional, name)
        values = _list_values(f, rows, name).values
        outputs.append(columns.as_tensor(values, (len(rows), *f.row_shape)))
    return outputs


def _transposed(triples: list[tuple[Any, Any, Any]]) -> list[Any]:
    parts = zip(*triples, strict=True) if triples else ()
    return [item for part in parts for item in part]


# ---- Batches


@parse_sequence_example_op.kernel
def parse_sequence_example_kernel(node: Node) -> Kernel:
    made = _Wanted(_types_and_shapes(node), [node.op.attrs[f"{kind}_keys"] for kind in _KEYS])
    optional = _texts(node.feature_list_dense_missing_assumed_empty)
    bare = len(node.outputs) == 1

    def parse(serialized: Any, names: Any, *defaults: Any) -> list[torch.Tensor | Array]:
        if names.size not in (0, serialized.size):
            raise refuse("example_names must be empty or have the correct number of elements")
        labels = [name.decode() for name in names.tolist()] or ["<unknown>"] * serialized.size
        rows = [made.read(text) for text in serialized.tolist()]
        outputs = _parse_batch(made, rows, labels, optional, defaults)
        return outputs[0] if bare else outputs

    return parse


def _parse_batch(
    made: _Wanted, rows: list[Any], names: list[str], optional: set[str], defaults: Sequence[Any]
) -> list[Any]:
    count, several = len(made.context_sparse), len(made.list_sparse)

    def where(feature: Dense, index: int) -> str:
        raise AssertionError(f"{feature.key}: the counts were checked")

    def missing(feature: Dense, index: int) -> str:
        return (
            f"Feature: {feature.key} (data type: {cpp_name(feature.dtype)}) is required but could "
            "not be found."
        )

    def context(place: int, feature: Sparse | Dense) -> wire.Block:
        raws = [row[0][place] for row in rows]
        block = _of_batch([raw or b"" for raw in raws], feature, names)
        if isinstance(feature, Sparse):
            return block
        present = np.fromiter((raw is not None for raw in raws), bool, len(raws))
        return block._replace(present=present[None])

    outputs = _transposed([
        triple
        for i, f in enumerate(made.context_sparse)
        for triple in columns.sparse_columns(context(i, f))
    ])  # fmt: skip
    for i, (f, default) in enumerate(zip(made.context_dense, defaults, strict=True)):
        block = context(count + i, f)
        _check_counts(f, block, default, names)
        outputs += columns.dense_columns([f], block, [default], where, missing)
    outputs += _transposed([
        _sparse_lists([row[1][i] or [] for row in rows], f, names)
        for i, f in enumerate(made.list_sparse)
    ])  # fmt: skip
    dense = [
        _dense_lists([row[1][several + i] for row in rows], f, names, optional)
        for i, f in enumerate(made.list_dense)
    ]
    outputs += [values for values, _ in dense]
    return outputs + [torch.tensor(lengths, dtype=torch.int64) for _, lengths in dense]


def _check_counts(feature: Dense, block: wire.Block, default: Any, names: list[str]) -> None:
    """Raise the error of a context feature of a wrong size; the largest of the batch is first."""
    counts, present = block.counts[0], block.present[0]
    wrong = np.flatnonzero(present & (counts != feature.size))
    most = int(counts.max(initial=0))
    if most != feature.size and (most or not int(np.prod(default.shape))) and len(counts):
        # TensorFlow ends the sentence with 1, for any shape of the feature.
        raise refuse(f"Inconsistent number of elements for feature {feature.key}: {most} vs 1")
    if len(wrong):
        raise refuse(f"Unexpected number of elements in example {names[wrong[0]]}")


def _of_batch(raws: list[bytes], feature: Sparse | Dense, names: list[str]) -> wire.Block:
    try:
        return columns.as_block(wire.decode(raws, cpp_name(feature.dtype)), raws)
    except (wire.Damaged, wire.WrongKind) as error:
        raise refuse(
            f"Error in context feature {feature.key} in example {names[error.index]}"
        ) from None


def _of_lists(lists: list[list[bytes]], feature: Sparse | Dense, names: list[str]) -> wire.Decoded:
    flat = [raw for raws in lists for raw in raws]
    owners = np.repeat(np.arange(len(lists)), [len(raws) for raws in lists])
    try:
        return wire.decode(flat, cpp_name(feature.dtype))
    except (wire.Damaged, wire.WrongKind) as error:
        raise refuse(
            f"Error in sequence feature {feature.key} in example {names[owners[error.index]]}"
        ) from None


def _sparse_lists(
    lists: list[list[bytes]], feature: Sparse, names: list[str]
) -> tuple[Any, Any, Any]:
    """Return indices of example, place in the list and place in the feature; values; shape."""
    found = _of_lists(lists, feature, names)
    lengths = np.array([len(raws) for raws in lists], np.int64)
    examples = np.repeat(np.arange(len(lists)), lengths)
    places = np.arange(len(examples)) - (np.cumsum(lengths) - lengths)[examples]
    owners = np.repeat(np.arange(len(examples)), found.counts)
    starts = np.cumsum(found.counts) - found.counts
    inner = np.arange(len(found.values)) - starts[owners]
    indices = np.stack([examples[owners], places[owners], inner], 1)
    longest = int(lengths.max()) if len(lengths) else 0
    widest = int(found.counts.max()) if len(found.counts) else 0
    return (
        torch.from_numpy(indices),
        columns.as_tensor(found.values, (len(found.values),)),
        torch.tensor([len(lists), longest, widest]),
    )


def _check_rows(
    feature: Dense, counts: np.ndarray, lengths: list[int], missing: list[bool], names: list[str]
) -> None:
    """Raise the error of lists of features: of the whole batch, or of the first wrong example."""
    owners = np.repeat(np.arange(len(lengths)), lengths)
    odd = np.flatnonzero(counts != feature.size)
    if len(odd):
        totals = np.bincount(owners, counts, len(lengths))
        if not feature.size or totals.max() % feature.size:
            raise refuse(f"Unexpected shape error in feature {feature.key}")
    wrong = int(owners[odd[0]]) if len(odd) else len(lengths)
    if True in missing[:wrong]:
        raise refuse(f"Missing feature {feature.key} in example {names[missing.index(True)]}")
    if len(odd):
        where = f"feature {feature.key}, example {names[wrong]}"
        raise refuse(f"Unexpected number of elements in {where}")


def _dense_lists(
    lists: list[Any], feature: Dense, names: list[str], optional: set[str]
) -> tuple[Any, list[int]]:
    """Values [batch, longest, *shape], filled up with zeros, and the lengths of the lists."""
    rows = [raws or [] for raws in lists]
    found = _of_lists(rows, feature, names)
    lengths = [len(raws) for raws in rows]
    missing = [raws is None and feature.key not in optional for raws in lists]
    _check_rows(feature, found.counts, lengths, missing, names)
    longest = max(lengths, default=0)
    kind = found.values.dtype
    empty: Any = b"" if kind.hasobject else 0
    made = np.full((len(rows), longest, feature.size), empty, dtype=kind)
    inside = np.arange(longest) < np.array(lengths, dtype=np.int64).reshape(-1, 1)
    made[inside] = found.values.reshape(-1, feature.size)
    shaped = made.reshape(len(rows), longest, *feature.row_shape)
    return columns.as_tensor(shaped, shaped.shape), lengths
