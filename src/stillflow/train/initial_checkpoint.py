"""tf.train.init_from_checkpoint: variables that start with values from a checkpoint."""

from __future__ import annotations

from typing import Any

from stillflow.files.filesystem import name_of
from stillflow.graph.api import device
from stillflow.graph.export import export
from stillflow.ops.io.bundles import restore_v2_op
from stillflow.platform import tf_logging as logging
from stillflow.train import saveables as saveables_lib
from stillflow.train.checkpoint_utils import checkpoint_filename, load_checkpoint
from stillflow.variables.base import VariableV2
from stillflow.variables.resource_variable import is_resource_variable
from stillflow.variables.variable_scope import default_variable_store


@export("train.init_from_checkpoint")
def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: dict[str, Any]) -> None:
    """Make variables start with the values of tensors in a checkpoint.

    Args:
      ckpt_dir_or_file: The checkpoint or its directory.
      assignment_map: What gets which value. Keys are names in the checkpoint; values are
        variables, lists of the parts of one, or names of variables. A key that ends in "/" stands
        for all tensors of a scope, its value for a scope of variables; "/" for all there is.

    Raises:
      ValueError: If there is no such tensor, variable or scope, or a shape differs.
    """
    path = name_of(ckpt_dir_or_file)
    shapes = load_checkpoint(path).get_variable_to_shape_map()
    file = checkpoint_filename(path)
    for name, target in sorted(assignment_map.items()):
        variable = target if _is_variable_or_parts(target) else _variable_named(target)
        if variable is not None:
            _check(variable, name, path, shapes)
            _set_initial_value(variable, file, name)
            _log(variable, path, name)
        else:
            for variable, full_name in _variables_of_scope(name, target, path, shapes):
                _set_initial_value(variable, file, full_name)
                _log(variable, path, full_name)


def _log(variable: Any, path: str, name: str) -> None:
    parts = variable if isinstance(variable, list) else [variable]
    names = ",".join(part.name for part in parts)
    logging.debug("Initialize variable %s from checkpoint %s with %s", names, path, name)


def is_variable(thing: Any) -> bool:
    """Return True if something is a variable of either kind."""
    return isinstance(thing, VariableV2) or is_resource_variable(thing)


def _is_variable_or_parts(target: Any) -> bool:
    return is_variable(target) or (isinstance(target, list) and all(map(is_variable, target)))


def _variable_named(name: str) -> Any:
    """Return the `get_variable` variable of a name, a list of its parts, or None."""
    variables = default_variable_store()._vars
    if name in variables:
        return variables[name]
    parts: list[Any] = []
    while f"{name}/part_{len(parts)}" in variables:
        parts.append(variables[f"{name}/part_{len(parts)}"])
    return parts or None


def _check(variable: Any, name: str, path: str, shapes: dict[str, list[int]]) -> None:
    if name not in shapes:
        raise ValueError(f"Tensor {name} is not found in {path} checkpoint {shapes}")
    if is_variable(variable) and not variable.get_shape().is_compatible_with(shapes[name]):
        raise ValueError(
            f"Shape of variable {variable.name} ({variable.get_shape()}) doesn't match with shape "
            f"of tensor {name} ({shapes[name]}) from checkpoint reader."
        )


def _variables_of_scope(
    name: str, target: str, path: str, shapes: dict[str, list[int]]
) -> list[tuple[Any, str]]:
    """Return the variables of the scope `target`, each with its tensor in the scope `name`."""
    scope = target[: target.rindex("/")] if "/" in target else ""
    if not name.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {scope} should map to scope only {name}. Should "
            "be 'scope/': 'other_scope/'."
        )
    found = {
        variable.partition("/part_")[0]
        for variable in default_variable_store()._vars
        if not scope or variable.startswith(scope + "/")
    }
    result = []
    for variable in sorted(found):
        full_name = variable[len(scope) :]
        if target != "/":
            full_name = full_name[1:]
        if name != "/":
            full_name = name + full_name
        full_name = full_name.removesuffix("/")
        if full_name not in shapes:
            raise ValueError(
                f"Tensor {full_name} ({variable[len(scope) + 1 :]} in {name}) is not found in "
                f"{path} checkpoint"
            )
        result.append((_variable_named(variable), full_name))
    return result


def _set_initial_value(variable: Any, file: str, name: str) -> None:
    """Set the initial value of a variable, or of its parts, to the value of a tensor."""
    pieces = [(variable, "")]
    if isinstance(variable, (list, tuple)):
        infos = [part._save_slice_info for part in variable]
        whole = infos[0].full_name if infos else None
        for info in infos:
            if info.full_name != whole:
                raise ValueError(
                    f"Slices must all be from the same tensor: {whole} != {info.full_name}"
                )
        pieces = [(part, info.spec) for part, info in zip(variable, infos, strict=True)]
    for piece, spec in pieces:
        set_checkpoint_initializer(piece, file, name, spec)


def set_checkpoint_initializer(
    variable: Any,
    ckpt_file: str,
    tensor_name: str,
    slice_spec: str,
    name: str = "checkpoint_initializer",
) -> None:
    """Set an initializer that reads a tensor, or the part `slice_spec` of it."""
    with device(variable.device), device("/cpu:0"):
        (value,) = restore_v2_op(
            ckpt_file,
            [tensor_name],
            [slice_spec],
            dtypes=[variable.dtype.base_dtype],
            name=name,
        )
        (saveable,) = [
            saveable
            for key, op in saveables_lib.op_list_to_dict([variable]).items()
            for saveable in saveables_lib.saveable_objects_for_op(op, key)
        ]
    variable._initializer_op = saveable.restore([value], restored_shapes=None)
    value.set_shape(variable.shape)
    variable._initial_value = value
