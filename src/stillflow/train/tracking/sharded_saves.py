"""Operations that save and restore objects, those of each device in a shard of their own."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

from stillflow.graph.api import control_dependencies, device
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.io import bundles, tensor_files
from stillflow.ops.strings.joining import string_join
from stillflow.train.saveables import SaveableObject, set_cpu0


def save_in_shards(prefix: Any, saveables: Iterable[SaveableObject]) -> Tensor:
    """Add save operations of objects, a shard for each device.

    Returns the prefix of the checkpoint's files, a string tensor, once all is saved.
    """
    with device("cpu:0"):
        temporary = string_join([prefix, f"_temp_{uuid.uuid4().hex}/part"])
    shares = _by_device(saveables)
    count = constant(len(shares), name="num_shards")
    saves, prefixes = [], []
    for shard, (where, share) in enumerate(shares):
        with device(set_cpu0(where)):
            prefixes.append(tensor_files.sharded_filename_op(temporary, shard, count))
        with device(where):
            saves.append(_save(prefixes[-1], share))
    with control_dependencies(saves), device(set_cpu0(shares[-1][0])):
        merge = bundles.merge_v2_checkpoints_op(prefixes, prefix, delete_old_dirs=True)
    with device("/cpu:0"), control_dependencies([merge]):
        return identity(prefix)


def restore_from_shards(
    prefix: Any, saveables: Iterable[SaveableObject]
) -> list[tuple[SaveableObject, Any]]:
    """Add restore operations of objects, one read for each device.

    Returns each object with the operation that gives it its values.
    """
    restored = []
    for where, share in _by_device(saveables):
        with device(where):
            specs = [spec for saveable in share for spec in saveable.specs]
            with device("cpu:0"):
                tensors = bundles.restore_v2_op(
                    prefix,
                    [spec.name for spec in specs],
                    [spec.slice_spec for spec in specs],
                    dtypes=[spec.dtype.base_dtype for spec in specs],
                )
            for saveable in share:
                own, tensors = tensors[: len(saveable.specs)], tensors[len(saveable.specs) :]
                restored.append((saveable, saveable.restore(own, restored_shapes=None)))
    return restored


def _by_device(saveables: Iterable[SaveableObject]) -> list[tuple[str, list[SaveableObject]]]:
    shares: dict[str, list[SaveableObject]] = {}
    for saveable in saveables:
        shares.setdefault(saveable.device or "", []).append(saveable)
    return sorted(shares.items())


def _save(prefix: Any, saveables: list[SaveableObject]) -> Operation:
    specs = [spec for saveable in saveables for spec in saveable.specs]
    names, slices = [spec.name for spec in specs], [spec.slice_spec for spec in specs]
    tensors = [spec.tensor for spec in specs]
    with device("cpu:0"):
        return bundles.save_v2_op(prefix, names, slices, tensors)
