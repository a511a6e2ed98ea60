"""Variables that start with another model's trained values, with another vocabulary."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.graph.api import get_collection
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.platform import tf_logging as logging
from stillflow.train.checkpoint_ops import load_and_remap_matrix_initializer
from stillflow.train.checkpoint_utils import checkpoint_filename
from stillflow.train.initial_checkpoint import init_from_checkpoint, is_variable
from stillflow.train.object_names import object_graph_key_mapping
from stillflow.train.saveables import op_list_to_dict
from stillflow.variables.partitioned import PartitionedVariable, PartitionInfo
from stillflow.variables.state_ops import assign

_AXES = "The only supported values for the axis argument are 0 and 1.  Provided axis: {}"


class _Vocabularies(NamedTuple):
    new_vocab: Any
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: Any
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


@export("train.VocabInfo")
class VocabInfo(_Vocabularies):
    """Vocabulary of a variable's rows or columns, in the new model and in the old one.

    Args:
      new_vocab: the file with the words of the new model, a line each.
      new_vocab_size: how many of these count.
      num_oov_buckets: number of rows or columns for words outside of the vocabulary.
      old_vocab: the file with the words of the old model.
      old_vocab_size: how many of these count; -1 for all.
      backup_initializer: makes the values of words that the old model had not; zeros by default.
      axis: 0 if the rows belong to words, 1 if the columns do.

    Raises:
      ValueError: If there is no such axis.
    """

    __slots__ = ()

    def __new__(
        cls,
        new_vocab: Any,
        new_vocab_size: int,
        num_oov_buckets: int,
        old_vocab: Any,
        old_vocab_size: int = -1,
        backup_initializer: Any = None,
        axis: int = 0,
    ) -> VocabInfo:
        if axis not in (0, 1):
            raise ValueError(_AXES.format(axis))
        return super().__new__(
            cls,
            new_vocab,
            new_vocab_size,
            num_oov_buckets,
            old_vocab,
            old_vocab_size,
            backup_initializer,
            axis,
        )


def infer_var_name(var: list[Any]) -> str:
    """Return the name that a variable, or the parts of one, has in a checkpoint."""
    named = op_list_to_dict(var)
    if len(named) > 1:
        raise TypeError(
            f"`var` = {var} passed as arg violates the constraints.  name_to_var_dict = {named}"
        )
    return next(iter(named))


def parts_of(var: Any) -> list[Any]:
    """Return a variable, a list of the parts of one, or a `PartitionedVariable`, as a list."""
    if is_variable(var):
        return [var]
    if isinstance(var, list) and all(map(is_variable, var)):
        return var
    if isinstance(var, PartitionedVariable):
        return var._get_variable_list()
    raise TypeError(
        "var MUST be one of the following: a Variable, list of Variable or PartitionedVariable, "
        f"but is {type(var)}"
    )


def get_var_info(var: Any, prev_tensor_name: str | None = None) -> tuple[str, Any]:
    """Return a variable's name in the checkpoint (by default its own), and the variable."""
    parts = parts_of(var)
    named = [var] if isinstance(var, PartitionedVariable) else parts
    name = infer_var_name(named)
    return prev_tensor_name or name, var if is_variable(var) else parts


def warm_start_var_with_vocab(
    var: Any,
    current_vocab_path: Any,
    current_vocab_size: int,
    prev_ckpt: Any,
    prev_vocab_path: Any,
    previous_vocab_size: int = -1,
    current_oov_buckets: int = 0,
    prev_tensor_name: str | None = None,
    initializer: Any = None,
    axis: int = 0,
) -> None:
    """Make a matrix start with the stored rows (or columns) of its words.

    Args:
      var: a variable, a list of the parts of one, or a `PartitionedVariable`.
      current_vocab_path: the file with the new words.
      current_vocab_size: how many of these count.
      prev_ckpt: the checkpoint or its directory.
      prev_vocab_path: the file with the stored words.
      previous_vocab_size: how many of these count; -1 for all.
      current_oov_buckets: how many rows there are for words that are not among the new ones.
      prev_tensor_name: the name of the stored matrix, that of the variable by default.
      initializer: makes values that are missing in the checkpoint; zeros by default.
      axis: which axis the words belong to.

    Raises:
      ValueError: If an argument is missing.
    """
    if not (current_vocab_path and current_vocab_size and prev_ckpt and prev_vocab_path):
        raise ValueError(
            "Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, "
            "prev_vocab_path}."
        )
    if axis not in (0, 1):
        raise ValueError(_AXES.format(axis))
    parts = parts_of(var)
    name = prev_tensor_name or infer_var_name(parts)
    rows = sum(part.get_shape().as_list()[0] for part in parts)
    for part in parts:
        shape = part.get_shape().as_list()
        vocabularies: dict[str, Any]
        if axis == 0:
            sizes = current_vocab_size, shape[1]
            vocabularies = {
                "old_row_vocab_size": previous_vocab_size,
                "old_row_vocab_file": prev_vocab_path,
                "new_row_vocab_file": current_vocab_path,
                "num_row_oov_buckets": current_oov_buckets,
            }
        else:
            sizes = rows, current_vocab_size
            vocabularies = {
                "old_col_vocab_file": prev_vocab_path,
                "new_col_vocab_file": current_vocab_path,
                "num_col_oov_buckets": current_oov_buckets,
            }
        initialize = load_and_remap_matrix_initializer(
            checkpoint_filename(prev_ckpt), name, *sizes, initializer=initializer, **vocabularies
        )
        info = part._get_save_slice_info()
        place = info and PartitionInfo(full_shape=info.full_shape, var_offset=info.var_offset)
        value = convert_to_tensor(initialize(shape=shape, partition_info=place))
        part._initializer_op = assign(part, value)


def get_grouped_variables(vars_to_warm_start: Any) -> dict[str, list[Any]]:
    """Return the variables to start, by the name of the whole that they are parts of.

    They are given by a regular expression for names of trainable variables, None for all of them, a
    list of expressions for names of global ones, or a list of variables.
    """
    if isinstance(vars_to_warm_start, str) or vars_to_warm_start is None:
        logging.info("Warm-starting variables only in TRAINABLE_VARIABLES.")
        variables = get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=vars_to_warm_start)
    elif not isinstance(vars_to_warm_start, list):
        raise ValueError(
            "`vars_to_warm_start must be a `list` or `str`.  Given type is "
            f"{type(vars_to_warm_start)}"
        )
    elif all(isinstance(each, str) for each in vars_to_warm_start):
        variables = [
            variable
            for scope in vars_to_warm_start
            for variable in get_collection(GraphKeys.GLOBAL_VARIABLES, scope=scope)
        ]
    elif all(map(is_variable, vars_to_warm_start)):
        variables = vars_to_warm_start
    else:
        types = [type(each) for each in vars_to_warm_start]
        raise ValueError(
            "If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given "
            f"types are {types}"
        )
    grouped: dict[str, list[Any]] = {}
    for variable in variables:
        listed = variable if isinstance(variable, list) else [variable]
        grouped.setdefault(infer_var_name(listed), []).append(variable)
    return grouped


def get_object_checkpoint_renames(path: Any, variable_names: Collection[str]) -> dict[str, str]:
    """Return the keys of variables in a checkpoint of objects; none if it is one of names."""
    try:
        keys = object_graph_key_mapping(checkpoint_filename(path))
    except errors.NotFoundError:
        return {}
    missing = set(variable_names) - set(keys)
    if missing:
        raise ValueError(
            "Attempting to warm-start from an object-based checkpoint, but found that the "
            "checkpoint did not contain values for all variables. The following variables were "
            f"missing: {missing}"
        )
    return {name: keys[name] for name in variable_names}


@export("train.warm_start")
def warm_start(
    ckpt_to_initialize_from: Any,
    vars_to_warm_start: Any = ".*",
    var_name_to_vocab_info: dict[str, VocabInfo] | None = None,
    var_name_to_prev_var_name: dict[str, str] | None = None,
) -> None:
    """Make variables start with the trained values of another model.

    Args:
      ckpt_to_initialize_from: the checkpoint or its directory.
      vars_to_warm_start: a regular expression for names of trainable variables, a list of those
        for names of global ones, a list of variables, or None for those with vocabularies alone.
      var_name_to_vocab_info: vocabularies of the variables that have some.
      var_name_to_prev_var_name: names in the checkpoint, where they are others.

    Raises:
      ValueError: If one of the two dicts names a variable that does not get started.
    """
    logging.info(f"Warm-starting from: {ckpt_to_initialize_from}")
    grouped = get_grouped_variables(vars_to_warm_start)
    infos = var_name_to_vocab_info or {}
    old_names = var_name_to_prev_var_name or get_object_checkpoint_renames(
        ckpt_to_initialize_from, grouped
    )
    plain: dict[str, Any] = {}
    count = 0
    for name, variables in grouped.items():
        old_name, info = old_names.get(name), infos.get(name)
        if info:
            logging.debug(
                "Warm-starting variable: %s; prev_tensor: %s; %s",
                name,
                old_name or "Unchanged",
                info,
            )
            warm_start_var_with_vocab(
                variables,
                info.new_vocab,
                info.new_vocab_size,
                ckpt_to_initialize_from,
                info.old_vocab,
                info.old_vocab_size,
                info.num_oov_buckets,
                old_name,
                info.backup_initializer,
                info.axis,
            )
        elif vars_to_warm_start:
            logging.debug(
                "Warm-starting variable: %s; prev_var_name: %s", name, old_name or "Unchanged"
            )
            stored, target = get_var_info(
                variables[0] if len(variables) == 1 else variables, old_name
            )
            plain[stored] = target
        count += bool(info or vars_to_warm_start)
    init_from_checkpoint(ckpt_to_initialize_from, plain)
    logging.info("Warm-started %d variables.", count)
    _check_used("var_name_to_prev_var_name", old_names, grouped)
    _check_used("var_name_to_vocab_info", infos, grouped)


def _check_used(argument: str, given: dict[str, Any], grouped: dict[str, list[Any]]) -> None:
    unused = {name for name, value in given.items() if name not in grouped or not value}
    if unused:
        raise ValueError(
            f"You provided the following variables in {argument} that were not used: {unused}.  "
            "Perhaps you misspelled them?  Here is the list of viable variable names: "
            f"{grouped.keys()}"
        )
