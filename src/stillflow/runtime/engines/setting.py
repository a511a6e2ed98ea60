"""The setting of a session's engines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from stillflow import errors, protos

if TYPE_CHECKING:
    from stillflow.runtime.engines.choice import Choice

PLAN = "plan"
NAMES = ("auto", PLAN, "onnxruntime", "openvino", "compile")
OPTION = "stillflow"  # the name among the custom optimizers of a `ConfigProto`


def use(name: str, config: Any = None) -> Any:
    """Return a `ConfigProto` whose session runs pure regions by an engine.

    Args:
      name: "auto", "plan", "onnxruntime", "openvino" or "compile".
      config: a `ConfigProto` that is changed and returned; a new one if None.

    Raises:
      tf.errors.InvalidArgumentError: if there is no such engine.
    """
    _known(name)
    config = protos.ConfigProto() if config is None else config
    optimizers = config.graph_options.rewrite_options.custom_optimizers
    found = [each for each in optimizers if each.name == OPTION]
    option = found[0] if found else optimizers.add(name=OPTION)
    option.parameter_map["engine"].s = name.encode()
    return config


def chosen(config: Any) -> str:
    """Return the name of a session's engine; a `ConfigProto` precedes `STILLFLOW_ENGINE`."""
    name = os.environ.get("STILLFLOW_ENGINE", "") or PLAN
    if config is not None:
        for option in config.graph_options.rewrite_options.custom_optimizers:
            if option.name == OPTION and "engine" in option.parameter_map:
                name = option.parameter_map["engine"].s.decode()
    return _known(name)


def session_engines(config: Any) -> Choice | None:
    """Return the engines of a session; None for the plan alone, without a look at the others."""
    if chosen(config) == PLAN:
        return None
    from stillflow.runtime.engines.choice import engines_of

    return engines_of(config)


def _known(name: str) -> str:
    if name not in NAMES:
        raise errors.invalid_argument(
            f"There is no engine {name!r}; there are {', '.join(NAMES)} (STILLFLOW_ENGINE, or "
            "stillflow.runtime.engines.use)"
        )
    return name
