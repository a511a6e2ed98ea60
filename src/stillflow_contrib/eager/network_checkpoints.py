"""Variables of a `tfe.Network` saved by names of their own, and restored, if need be later."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.train.checkpoint_utils import list_variables, load_checkpoint
from stillflow.train.global_step import get_global_step
from stillflow.train.saver import Saver
from stillflow_contrib.eager.network import Network

_MapFunc = Callable[[str], str]
_INSTEAD = "Please inherit from tf.keras.Model instead of tfe.Network, and use tf.keras.Model."


@dataclass
class _Names:
    """Map from names of variables to names in checkpoints.

    Attributes:
      map_func: the function.
      is_given: whether the program gave it.
      network, scope: the names of the network.
    """

    map_func: _MapFunc
    is_given: bool
    network: str
    scope: str

    def by_name(self, variables: Any, explain: Callable[..., str]) -> dict[str, Any]:
        """Variables by their names in checkpoints.

        Raises:
          ValueError: if two have the same.
        """
        found: dict[str, Any] = {}
        for variable in variables:
            self.add(found, self.map_func(variable._shared_name), variable, explain)
        return found

    def add(
        self, found: dict[str, Any], name: str, variable: Any, explain: Callable[..., str]
    ) -> None:
        """Add a variable to those of a name, which have to be the same."""
        first = found.setdefault(name, variable)
        if first is not variable:
            make = explain if self.is_given else _default_conflict
            raise ValueError(make(self, name, first._shared_name, variable._shared_name))


def _default_conflict(names: _Names, name: str, first: str, second: str) -> str:
    return (
        "The default checkpoint variable name mapping strategy for Network "
        f"'{names.network}' resulted in a naming conflict. We attempted to strip off the variable "
        f"prefix for the Network ('{names.scope}'), but this resulted in two variables named "
        f"'{name}' (originally '{first}' and '{second}'). This should only happen when using "
        "variable sharing (i.e. the Network contains Networks or Layers which were first added "
        "to another Network, and therefore have that Network's variable prefix). One solution is "
        "to pass `map_func=lambda n: n` to save and restore to use fully qualified variable names "
        "in the checkpoint, although this will require that the variable prefix of the Network "
        f"being restored into is also '{names.scope}'. You may alternatively write an arbitrary "
        "mapping."
    )


def _save_conflict(names: _Names, name: str, first: str, second: str) -> str:
    return (
        f"The map_func passed to save_network_checkpoint for the Network '{names.network}' "
        f"resulted in two variables named '{name}' ('{first}' and '{second}'). Try stripping less "
        "from the variable names, or renaming parts of the Network. For reference, variables "
        f"created by sub-Layers of this Network are prefixed with '{names.scope}', but if they "
        "are re-used after being added to another Network, they will have that Network's full "
        "variable prefix instead."
    )


def _restore_conflict(names: _Names, name: str, first: str, second: str) -> str:
    return (
        f"The map_func passed to restore_network_checkpoint for the Network '{names.network}' "
        f"resulted in two variables named '{name}' (originally '{first}' and '{second}'). Since "
        "this is also an error when saving, this Network was probably not saved with this "
        "map_func. Note that map_func always maps from full variable names to checkpoint names; "
        "there is no need to specify an inverse mapping."
    )


def _names(network: Network, map_func: _MapFunc | None) -> _Names:
    scope = network.scope_name
    given = map_func is not None

    def strip(name: str) -> str:
        return name.removeprefix(f"{scope}/")

    return _Names(strip if map_func is None else map_func, given, network.name, scope)


def _prefix(network: Network, save_path: str) -> str:
    if not os.path.isdir(save_path):
        return save_path
    return os.path.join(save_path, network.name.replace("/", "_"))


def _session() -> Any:
    return None if tf.executing_eagerly() else tf.get_default_session()


@export("contrib.eager.save_network_checkpoint")
def save_network_checkpoint(
    network: Network, save_path: str, global_step: Any = None, map_func: _MapFunc | None = None
) -> str | None:
    """Save the variables of a network.

    Args:
      network: the network, which was called before.
      save_path: the prefix of the file names, or a directory: then the network's name in it.
      global_step: a number that is added; that of the graph if it is None.
      map_func: makes names in the checkpoint of full names of variables; by default that without
        the scope of the network.

    Returns:
      What names of files begin with.

    Raises:
      ValueError: if the network was not called, or two variables have the same name.
    """
    if not network.built:
        raise ValueError(
            "Attempt to save the Network before it was first called. This means variables have "
            "not yet been created, so there is nothing to save."
        )
    network._set_scope()
    step = get_global_step() if global_step is None else global_step
    variables = _names(network, map_func).by_name(network.variables, _save_conflict)
    return Saver(variables).save(
        sess=_session(),
        save_path=_prefix(network, save_path),
        write_meta_graph=False,
        global_step=step,
    )


@export("contrib.eager.restore_network_checkpoint")
def restore_network_checkpoint(
    network: Network, save_path: str, map_func: _MapFunc | None = None
) -> None:
    """Restores the variables of a network: those there are now, others when they are made.

    Args:
      network: the network.
      save_path: the result of `save_network_checkpoint`, or the directory.
      map_func: the function that it was given.

    Raises:
      ValueError: if two variables have the same name.
    """
    network._finalize_name(parent_network=False)
    network._set_scope()
    save_path = _prefix(network, save_path)
    names = _names(network, map_func)
    existing = names.by_name(network.variables, _restore_conflict)
    if existing:
        Saver(var_list=existing).restore(sess=_session(), save_path=save_path)
    reader = load_checkpoint(save_path)
    waiting = {
        name: reader.get_tensor(name)
        for name, _ in list_variables(save_path)
        if name not in existing
    }
    if waiting:
        _defer(network, _Deferred(names, waiting, _session()))


@dataclass
class _Deferred:
    """Values of variables that are not there yet.

    Attributes:
      names: how variables are named in the checkpoint.
      values: the values by these names; None once a variable has one.
      session: what initializes variables.
      restored: variables by these names.
    """

    names: _Names
    values: dict[str, Any]
    session: Any
    restored: dict[str, Any] = field(default_factory=dict)


class _Getter:
    """A custom getter that gives variables the values that wait for them, the latest first."""

    def __init__(self) -> None:
        self.waiting: list[_Deferred] = []

    def __call__(
        self,
        getter: Any,
        name: str,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        deferred, key, value = self._find(name)
        if value is not None:
            initializer, shape = value, None
        variable = getter(name, *args, shape=shape, dtype=dtype, initializer=initializer, **kwargs)
        if deferred is None:
            return variable
        if value is not None:
            deferred.values[key] = None  # the memory is free again
            if not tf.executing_eagerly():
                deferred.session.run(variable.initializer)
        deferred.names.add(deferred.restored, key, variable, _restore_conflict)
        return variable

    def _find(self, name: str) -> tuple[_Deferred | None, str, Any]:
        for deferred in reversed(self.waiting):
            key = deferred.names.map_func(name)
            if key in deferred.values:
                return deferred, key, deferred.values[key]
        return None, "", None


def _defer(layer: Any, deferred: _Deferred) -> None:
    """Has a layer and those in it wait for values."""
    if isinstance(layer, Network):
        layer._set_scope()
    if not hasattr(layer, "_custom_getter"):
        layer._custom_getter = _Getter()
    layer._scope.set_custom_getter(layer._custom_getter)
    layer._custom_getter.waiting.append(deferred)
    if isinstance(layer, Network):
        for inner in layer.layers:
            if not isinstance(inner, Network):
                layer._set_scope_for_nonnetwork_sublayer(inner)
            _defer(inner, deferred)
