"""Contents of checkpoints: variables, their parts, and other objects with tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stillflow.graph.api import device
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.device import DeviceSpec
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.variables.base import Variable, VariableV2
from stillflow.variables.partitioned import PartitionedVariable
from stillflow.variables.ref_variable import RefVariable
from stillflow.variables.resource_variable import BaseResourceVariable, is_resource_variable
from stillflow.variables.state_ops import assign

VARIABLE_VALUE_KEY = "VARIABLE_VALUE"
_REFERENCE_OPS = ("Variable", "VariableV2", "AutoReloadVariable")
_VARIABLE_OPS = (*_REFERENCE_OPS, "VarHandleOp", "ReadVariableOp")


class SaveSpec:
    """One tensor to be saved.

    Args:
      tensor: The tensor, or a function that makes it.
      slice_spec: Which part of a larger tensor it is, as `SaveSliceInfo.spec` writes it, or "".
      name: The name in the checkpoint.
      dtype, device: The type and the device, needed where `tensor` is a function.
    """

    def __init__(
        self, tensor: Any, slice_spec: Any, name: str, dtype: Any = None, device: Any = None
    ) -> None:
        self._tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        if callable(tensor):
            if dtype is None or device is None:
                raise AssertionError(
                    "When passing a callable `tensor` to a SaveSpec, an explicit dtype and device "
                    "must be provided."
                )
            self.dtype: DType = dtype
            self.device: str = device
        else:
            self.dtype, self.device = tensor.dtype, tensor.device

    @property
    def tensor(self) -> Any:
        """The tensor; one made by a function is new each time."""
        return self._tensor() if callable(self._tensor) else self._tensor


class SaveableObject:
    """Object that checkpoints hold, as one or several tensors.

    Args:
      op: What it is, for instance a variable; nothing is saved twice.
      specs: Its tensors, all on one device.
      name: Its name.
    """

    full_name = ""  # under which a `Saver` saves it, if that is known

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = specs
        self.name = name

    @property
    def optional_restore(self) -> bool:
        """True if it may be missing in a checkpoint."""
        return False

    @property
    def device(self) -> str:
        """The device of its tensors."""
        return self.specs[0].device

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Any:
        """Build the operation that restores the saved state.

        Args:
          restored_tensors: The read values, for each of `specs`.
          restored_shapes: Shapes to give these first, or None.

        Returns:
          An operation.
        """
        raise ValueError("Calling an abstract method.")


class ReferenceVariableSaveable(SaveableObject):
    """A reference variable."""

    def __init__(self, var: Any, slice_spec: Any, name: str) -> None:
        super().__init__(var, [SaveSpec(var, slice_spec, name, dtype=var.dtype)], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Tensor:
        """Assign the read value."""
        (tensor,) = restored_tensors
        if restored_shapes is not None:
            tensor = reshape(tensor, restored_shapes[0])
        known = restored_shapes is None and self.op.get_shape().is_fully_defined()
        return assign(self.op, tensor, validate_shape=known)


class ResourceVariableSaveable(SaveableObject):
    """A resource variable, or the tensor that reads one."""

    def __init__(self, var: Any, slice_spec: Any, name: str) -> None:
        is_read = isinstance(var, Tensor)
        if not is_read and not is_resource_variable(var):
            raise ValueError(
                f"Saveable is neither a resource variable nor a read operation. Got: {var!r}"
            )
        value: Any = var if is_read else _reader(var)
        self.handle_op = var.op.inputs[0] if is_read else var.handle
        self._var_device, self._var_shape = var.device, var.shape
        spec = SaveSpec(value, slice_spec, name, dtype=var.dtype, device=var.device)
        super().__init__(var, [spec], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Operation | None:
        """Assign the read value, on the variable's device."""
        from stillflow.ops.variables.resource import assign_variable_op

        (tensor,) = restored_tensors
        if restored_shapes is not None:
            tensor = reshape(tensor, restored_shapes[0])
        with device(self._var_device):
            tensor = identity(tensor)
            value = convert_to_tensor(tensor)
            self._var_shape.assert_is_compatible_with(value.shape)
            return assign_variable_op(self.handle_op, value)


def _reader(variable: Any) -> Callable[[], Tensor]:
    """Return a function that adds a read of the variable, and a copy of it on the CPU."""

    def read() -> Tensor:
        with device(variable.device):
            value = variable.read_value()
            with device("/device:CPU:0"):
                return identity(value)

    return read


def set_cpu0(device_string: str) -> str:
    """Return the first CPU of the machine that a device belongs to."""
    spec = DeviceSpec.from_string(device_string)
    return spec.replace(device_type="CPU", device_index=0).to_string()


def _is_trackable(item: Any) -> bool:
    """Return True if an object, other than a variable, lists its own parts of a checkpoint."""
    return hasattr(item, "_gather_saveables_for_checkpoint") and not isinstance(item, Variable)


def saveable_objects_for_op(op: Any, name: str) -> Iterator[SaveableObject]:
    """Yield the saveables that a variable, a list of its parts, or another object consists of.

    ValueError if parts do not belong together, TypeError for a tensor of no variable.
    """
    if not isinstance(name, str):
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to trackable operations. Name "
            f"is not a string: {name}"
        )
    if isinstance(op, SaveableObject):
        yield op
    elif isinstance(op, (list, tuple, PartitionedVariable)):
        yield from _saveable_parts(list(op), name)
    elif _is_trackable(op):
        for attribute, factory in op._gather_saveables_for_checkpoint().items():
            full = name if attribute == VARIABLE_VALUE_KEY else f"{name}_{attribute}"
            made = factory(full) if callable(factory) else factory
            yield from saveable_objects_for_op(made, made.name)
    elif isinstance(op, BaseResourceVariable):
        source = op if op.handle.holds_value else op._graph_element
        yield ResourceVariableSaveable(source, "", name)
    else:
        variable = convert_to_tensor(op, as_ref=True)
        if not _is_of_variable(variable):
            raise TypeError(
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not "
                f"a variable: {variable}"
            )
        kind = _saveable_kind(variable)
        yield kind(variable, "", name)


def _saveable_parts(parts: list[Any], name: str) -> Iterator[SaveableObject]:
    slice_name = None
    for variable in parts:
        if not isinstance(variable, VariableV2):
            raise ValueError(f"Slices must all be Variables: {variable}")
        info = variable._save_slice_info
        if not info:
            raise ValueError(f"Slices must all be slices: {variable}")
        if slice_name is None:
            slice_name = info.full_name
        elif slice_name != info.full_name:
            raise ValueError(
                f"Slices must all be from the same tensor: {slice_name} != {info.full_name}"
            )
        yield _saveable_kind(variable)(variable, info.spec, name)


def _saveable_kind(variable: Any) -> Callable[[Any, Any, str], SaveableObject]:
    if variable.op.type in _REFERENCE_OPS:
        return ReferenceVariableSaveable
    return ResourceVariableSaveable


def _is_of_variable(tensor: Any) -> bool:
    return isinstance(tensor, Tensor) and tensor.op.type in _VARIABLE_OPS


def op_list_to_dict(op_list: Any, convert_variable_to_tensor: bool = True) -> dict[str, Any]:
    """Return variables and other saveables by the names they get in a checkpoint.

    Parts of one variable are a list under its name; other variables are given as tensors if so
    asked. TypeError for other things, ValueError for two of one name.
    """
    if not isinstance(op_list, (list, tuple, set)):
        raise TypeError(f"Variables to save should be passed in a dict or a list: {op_list}")
    result: dict[str, Any] = {}
    # Reads of resource variables may be added, so the order decides about the graph.
    for var in sorted(op_list, key=lambda item: item.name):
        if isinstance(var, SaveableObject):
            result[var.name] = var
        elif isinstance(var, BaseResourceVariable) and var.handle.holds_value:
            _add_shared(result, var)
        elif isinstance(var, PartitionedVariable):
            _add_named(result, var.name, var)
        elif isinstance(var, VariableV2) and var._save_slice_info:
            _add_part(result, var)
        elif _is_trackable(var) and not isinstance(var, (BaseResourceVariable, RefVariable)):
            factories = var._gather_saveables_for_checkpoint().values()
            made = [factory() if callable(factory) else factory for factory in factories]
            result.update(op_list_to_dict(made))
        else:
            if convert_variable_to_tensor:
                var = _as_tensor(var)
            reads = var.op.type == "ReadVariableOp"
            _add_named(result, (var.op.inputs[0].op if reads else var.op).name, var)
    return result


def _as_tensor(var: Any) -> Tensor:
    if isinstance(var, BaseResourceVariable):
        tensor = var._graph_element
    else:
        tensor = convert_to_tensor(var, as_ref=True)
    if not _is_of_variable(tensor):
        raise TypeError(f"Variable to save is not a Variable: {tensor}")
    return tensor


def _add_named(result: dict[str, Any], name: str, var: Any) -> None:
    if name in result:
        raise ValueError(f"At least two variables have the same name: {name}")
    result[name] = var


def _add_shared(result: dict[str, Any], var: Any) -> None:
    """Add a variable that was made where operations run when they are called."""
    name = var._shared_name
    if result.setdefault(name, var) is not var:
        raise ValueError(
            f"Two different ResourceVariable objects with the same shared_name '{name}' were "
            "passed to the Saver. This likely means that they were created in different Graphs or "
            "isolation contexts, and may not be checkpointed together."
        )


def _add_part(result: dict[str, Any], var: Any) -> None:
    name = var._save_slice_info.full_name
    known = result.setdefault(name, [])
    if not isinstance(known, list):
        raise ValueError(f"Mixing slices and non-slices with the same name: {name}")
    known.append(var)


def validate_and_slice_inputs(names_to_saveables: Any) -> list[SaveableObject]:
    """Return the saveables of a dict or list, in the order of their names.

    TypeError if something cannot be saved, ValueError if it is to be saved twice.
    """
    named = names_to_saveables
    if not isinstance(named, dict):
        named = op_list_to_dict(named)
    saveables: dict[int, SaveableObject] = {}
    for name in sorted(named):
        for saveable in saveable_objects_for_op(named[name], name):
            key = id(saveable.op)
            if key in saveables:
                raise ValueError(
                    f"The same saveable will be restored with two names: {saveable.name}"
                )
            saveables[key] = saveable
    return list(saveables.values())
