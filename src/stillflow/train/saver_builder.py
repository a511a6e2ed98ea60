"""Part of a graph that saves and restores: node for node as TensorFlow builds it."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from stillflow.graph.api import control_dependencies, device, name_scope
from stillflow.graph.device import canonical_name
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.constants import constant, placeholder_with_default
from stillflow.ops.control_flow.identity_and_group import group, identity, with_dependencies
from stillflow.ops.io import bundles, tensor_files
from stillflow.ops.strings.joining import string_join
from stillflow.protos import SaverDef
from stillflow.train import saveables as saveables_lib
from stillflow.train.saveables import (
    ReferenceVariableSaveable,
    ResourceVariableSaveable,
    SaveableObject,
    SaveSpec,
)
from stillflow.variables.partitioned import PartitionedVariable

Saveable = SaveableObject
PerDevice = Sequence[tuple[str, list[Saveable]]]


class BaseSaverBuilder:
    """Builder of save and restore operations; subclasses may build other ones.

    Args:
      write_version: The format to save in, `SaverDef.V1` or `SaverDef.V2`.
    """

    SaveSpec = SaveSpec
    SaveableObject = SaveableObject
    VariableSaveable = ReferenceVariableSaveable
    ResourceVariableSaveable = ResourceVariableSaveable

    def __init__(self, write_version: int = SaverDef.V2) -> None:
        self._write_version = write_version

    def save_op(self, filename_tensor: Tensor, saveables: Sequence[Saveable]) -> Operation:
        """Add the operation that saves.

        Args:
          filename_tensor: The file (V1) or prefix (V2), a string.
          saveables: The objects to save.

        Raises:
          RuntimeError: If the format is neither.
        """
        specs = [spec for saveable in saveables for spec in saveable.specs]
        names = [spec.name for spec in specs]
        tensors = [spec.tensor for spec in specs]
        slices = [spec.slice_spec for spec in specs]
        if self._write_version == SaverDef.V1:
            return tensor_files.save_slices_op(filename_tensor, names, slices, tensors, name="save")
        if self._write_version == SaverDef.V2:
            return bundles.save_v2_op(filename_tensor, names, slices, tensors)
        raise RuntimeError(f"Unexpected write_version: {self._write_version}")

    def bulk_restore(
        self,
        filename_tensor: Tensor,
        saveables: Sequence[Saveable],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:
        """Add reads of all tensors, one operation per saveable."""
        del restore_sequentially
        tensors: list[Tensor] = []
        for saveable in saveables:
            with device(saveables_lib.set_cpu0(saveable.device) if saveable.device else None):
                tensors.extend(self.restore_op(filename_tensor, saveable, preferred_shard))
        return tensors

    def restore_op(
        self, filename_tensor: Tensor, saveable: Saveable, preferred_shard: int
    ) -> list[Tensor]:
        """Add the read of one saveable's tensors."""
        del preferred_shard
        return [
            bundles.restore_v2_op(
                filename_tensor, [spec.name], [spec.slice_spec], dtypes=[spec.dtype.base_dtype]
            )[0]
            for spec in saveable.specs
        ]

    def sharded_filename(self, filename_tensor: Tensor, shard: int, num_shards: Tensor) -> Tensor:
        """Add the name of a shard."""
        result: Tensor = tensor_files.sharded_filename_op(filename_tensor, shard, num_shards)
        return result

    def _AddSaveOps(self, filename_tensor: Tensor, saveables: Sequence[Saveable]) -> Tensor:
        save = self.save_op(filename_tensor, saveables)
        return with_dependencies([save], filename_tensor)

    def _AddShardedSaveOpsForV2(self, checkpoint_prefix: Tensor, per_device: PerDevice) -> Tensor:
        """Save each device's share into a directory of its own, then make one of them."""
        suffix = f"_temp_{uuid.uuid4().hex}/part"
        temporary_prefix = string_join([checkpoint_prefix, suffix])
        num_shards = constant(len(per_device), name="num_shards")
        saves, prefixes = [], []
        last_device = ""
        for shard, (where, saveables) in enumerate(per_device):
            last_device = where
            with device(saveables_lib.set_cpu0(where)):
                filename = self.sharded_filename(temporary_prefix, shard, num_shards)
                prefixes.append(filename)
                saves.append(self._AddSaveOps(filename, saveables))
        with control_dependencies([save.op for save in saves]):
            with device(saveables_lib.set_cpu0(last_device)):
                merge = bundles.merge_v2_checkpoints_op(
                    prefixes, checkpoint_prefix, delete_old_dirs=True
                )
                with control_dependencies([merge]):
                    return identity(checkpoint_prefix)

    def _AddShardedSaveOps(self, filename_tensor: Tensor, per_device: PerDevice) -> Tensor:
        if self._write_version == SaverDef.V2:
            return self._AddShardedSaveOpsForV2(filename_tensor, per_device)
        num_shards = constant(len(per_device), name="num_shards")
        saves = []
        for shard, (where, saveables) in enumerate(per_device):
            with device(where):
                filename = self.sharded_filename(filename_tensor, shard, num_shards)
                saves.append(self._AddSaveOps(filename, saveables))
        with control_dependencies([save.op for save in saves]):
            result: Tensor = tensor_files.sharded_filespec_op(filename_tensor, num_shards)
            return result

    def _AddRestoreOps(
        self,
        filename_tensor: Tensor,
        saveables: Sequence[Saveable],
        restore_sequentially: bool,
        reshape: bool,
        preferred_shard: int = -1,
        name: str = "restore_all",
    ) -> Operation:
        tensors = self.bulk_restore(
            filename_tensor, saveables, preferred_shard, restore_sequentially
        )
        assigns = []
        start = 0
        for saveable in saveables:
            shapes = (
                [_shape_to_restore(spec.tensor) for spec in saveable.specs] if reshape else None
            )
            mine = tensors[start : start + len(saveable.specs)]
            start += len(saveable.specs)
            assigns.append(saveable.restore(mine, shapes))
        return group(*assigns, name=name)

    def _AddShardedRestoreOps(
        self,
        filename_tensor: Tensor,
        per_device: PerDevice,
        restore_sequentially: bool,
        reshape: bool,
    ) -> Operation:
        restores = []
        for shard, (where, saveables) in enumerate(per_device):
            with device(where):
                restores.append(
                    self._AddRestoreOps(
                        filename_tensor,
                        saveables,
                        restore_sequentially,
                        reshape,
                        preferred_shard=shard,
                        name="restore_shard",
                    )
                )
        return group(*restores, name="restore_all")

    def _GroupByDevices(self, saveables: Sequence[Saveable]) -> PerDevice:
        """Return the saveables of each device, by name; ValueError if one is on several."""
        per_device: dict[str, list[Saveable]] = {}
        for saveable in saveables:
            devices = {canonical_name(spec.tensor.device) for spec in saveable.specs}
            if len(devices) != 1:
                raise ValueError(
                    f"All tensors of a saveable object must be on the same device: {saveable.name}"
                )
            per_device.setdefault(devices.pop(), []).append(saveable)
        return sorted(per_device.items(), key=lambda item: item[0])

    def build(
        self,
        names_to_saveables: Any,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: str = "model",
    ) -> Any:
        """Add the save and restore operations to the default graph.

        Args:
          names_to_saveables: The objects to save, by name; or a list.
          reshape: Whether tensors are given the shape of their variable when they are restored.
          sharded: Whether there is a file for each device.
          max_to_keep, keep_checkpoint_every_n_hours: Go into the result.
          name: Of the name scope, "save" by default.
          restore_sequentially: Has no effect.
          filename: The file if none is fed.

        Returns:
          A `SaverDef`.
        """
        return self._build_internal(
            names_to_saveables,
            reshape=reshape,
            sharded=sharded,
            max_to_keep=max_to_keep,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            name=name,
            restore_sequentially=restore_sequentially,
            filename=filename,
        )

    def _build_internal(
        self,
        names_to_saveables: Any,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        filename: str | None = "model",
        build_save: bool = True,
        build_restore: bool = True,
    ) -> Any:
        if not build_save or not build_restore:
            raise ValueError(
                "save and restore operations need to be built together  when eager execution is "
                "not enabled."
            )
        saveables = saveables_lib.validate_and_slice_inputs(names_to_saveables)
        with name_scope(name, "save", [saveable.op for saveable in saveables]):
            filename_tensor = placeholder_with_default(
                filename or "model", shape=(), name="filename"
            )
            # Old programs feed "save/Const".
            filename_tensor = placeholder_with_default(filename_tensor, shape=(), name="Const")
            if sharded:
                per_device = self._GroupByDevices(saveables)
                save = self._AddShardedSaveOps(filename_tensor, per_device)
                restore = self._AddShardedRestoreOps(
                    filename_tensor, per_device, restore_sequentially, reshape
                )
            else:
                save = self._AddSaveOps(filename_tensor, saveables)
                restore = self._AddRestoreOps(
                    filename_tensor, saveables, restore_sequentially, reshape
                )
        _make_partitioned_tensors()
        return SaverDef(
            filename_tensor_name=filename_tensor.name,
            save_tensor_name=save.name,
            restore_op_name=restore.name,
            max_to_keep=max_to_keep or 0,
            sharded=sharded,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            version=self._write_version,
        )


class BulkSaverBuilder(BaseSaverBuilder):
    """Builder that reads all tensors by one operation."""

    def bulk_restore(
        self,
        filename_tensor: Tensor,
        saveables: Sequence[Saveable],
        preferred_shard: int,
        restore_sequentially: bool,
    ) -> list[Tensor]:
        """Add the operation that reads all tensors."""
        del preferred_shard, restore_sequentially
        specs = [spec for saveable in saveables for spec in saveable.specs]
        with device("cpu:0"):
            result: list[Tensor] = bundles.restore_v2_op(
                filename_tensor,
                [spec.name for spec in specs],
                [spec.slice_spec for spec in specs],
                dtypes=[spec.dtype.base_dtype for spec in specs],
            )
        return result


def _shape_to_restore(tensor: Any) -> Any:
    shape = tensor.get_shape()
    return shape if shape.is_fully_defined() else shape_of(tensor)


def _make_partitioned_tensors() -> None:
    """Add the nodes that join the parts of variables, where collections name these variables.

    Programs that import the graph look these names up.
    """
    graph = get_default_graph()
    for key in graph.get_all_collection_keys():
        for element in graph.get_collection(key):
            if isinstance(element, PartitionedVariable):
                try:
                    graph.get_operation_by_name(element.name)
                except KeyError:
                    element.as_tensor()
