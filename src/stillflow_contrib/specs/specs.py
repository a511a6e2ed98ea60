"""Networks and parameters out of specifications, which are expressions of Python."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from stillflow.graph.export import export, export_value
from stillflow.graph.operation import Tensor
from stillflow_contrib.specs import params_ops, specs_lib, specs_ops


def _evaluated(text: str, names: ModuleType, environment: dict[str, Any] | None) -> dict[str, Any]:
    """Return the bindings after the statements, which see the names of a module."""
    specs_lib.check_keywords(text)
    bindings = dict(environment or {})
    exec(text, vars(names), bindings)
    return bindings


@export("contrib.specs.eval_params")
def eval_params(params: str, environment: dict[str, Any] | None = None) -> dict[str, Any]:
    """Evaluate parameters such as `n = Li(5, 500); rate = Lf(1e-4, 1e-1)`.

    Args:
      params: assignments.
      environment: values of names that they use.

    Returns:
      These, and the parameters by name.

    Raises:
      ValueError: for statements that are not assignments.
    """
    return _evaluated(params, params_ops, environment)


@export("contrib.specs.eval_spec")
def eval_spec(spec: str, environment: dict[str, Any] | None = None) -> dict[str, Any]:
    """Evaluate parts of networks such as `left = Cr(64, [5, 5]); right = Fr(64)`.

    Args:
      spec: assignments.
      environment: values of names that they use.

    Returns:
      These, and the parts by name.

    Raises:
      ValueError: for statements that are not assignments.
    """
    return _evaluated(spec, specs_ops, environment)


@export("contrib.specs.create_net_fun")
def create_net_fun(spec: str, environment: dict[str, Any] | None = None) -> Callable[[Any], Any]:
    """Return the function that makes a network after its input.

    Args:
      spec: assignments, one of them to `net`.
      environment: values of names that they use.

    Raises:
      ValueError: if there is no `net`, or for statements that are not assignments.
    """
    net = eval_spec(spec, environment).get("net")
    if net is None:
        raise ValueError(f"spec failed to create 'net': {spec}")
    funcall: Callable[[Any], Any] = net.funcall
    return funcall


@export("contrib.specs.create_net")
def create_net(spec: str, inputs: Any, environment: dict[str, Any] | None = None) -> Tensor:
    """Make a network.

    Args:
      spec: assignments, one of them to `net`.
      inputs: the tensor that it begins with.
      environment: values of names that they use.

    Returns:
      Its last tensor.

    Raises:
      ValueError: if there is no `net`, or for statements that are not assignments.
    """
    return create_net_fun(spec, environment)(inputs)


@export("contrib.specs.LocalImport")
class LocalImport:
    """Context that makes names global in the caller's module.

    Args:
      names: values by name, or a module.
    """

    def __init__(self, names: dict[str, Any] | ModuleType) -> None:
        if isinstance(names, ModuleType):
            # A module's own names, such as __name__, stay the caller's.
            names = {name: x for name, x in vars(names).items() if not name.startswith("__")}
        self.names = names

    def __enter__(self) -> None:
        bindings = sys._getframe(1).f_globals
        self.old = {name: bindings.get(name) for name in self.names}
        bindings.update(self.names)

    def __exit__(self, *_: Any) -> None:
        bindings = sys._getframe(1).f_globals
        bindings.update(self.old)
        for name, value in self.old.items():
            if value is None:
                del bindings[name]


# TensorFlow's tf.contrib.specs.ops is a module of its own that got in the way of this.
ops = export_value("contrib.specs.ops", LocalImport(specs_ops))
