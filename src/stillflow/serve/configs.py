"""Rules of a `ModelServerConfig`: names, paths, platforms, version labels."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from stillflow import errors

_TENSORFLOW = 1  # ModelType.TENSORFLOW, which platforms have replaced


def check_configs(config: Any) -> dict[str, Any]:
    """Return the models of a `ModelServerConfig` by name.

    Raises:
      InvalidArgumentError: if it has none, or one that is not right.
    """
    kind = config.WhichOneof("config")
    if kind == "custom_model_config":
        raise errors.invalid_argument(
            "ServerModelConfig type not supported. Only ModelConfigList is currently supported"
        )
    if kind is None:
        raise errors.invalid_argument("Invalid ServerModelConfig")
    found: dict[str, Any] = {}
    for model in config.model_config_list.config:
        if model.name in found:
            raise errors.invalid_argument(
                f"Illegal to list model {model.name} multiple times in config list"
            )
        _check_platform(model)
        if "://" not in model.base_path and not os.path.isabs(model.base_path):
            raise errors.invalid_argument(
                f"Expected model {model.name} to have an absolute path or URI; got base_path()="
                f"{model.base_path}"
            )
        found[model.name] = model
    return found


def _check_platform(model: Any) -> None:
    if not model.name:
        raise errors.invalid_argument("A model of the config list has no name")
    if model.model_platform and model.model_type:
        raise errors.invalid_argument(
            "Illegal setting both ModelServerConfig::model_type (deprecated) and "
            f"ModelServerConfig::model_platform, model name is {model.name}"
        )
    if not model.model_platform and not model.model_type:
        raise errors.invalid_argument(
            "Illegal setting neither ModelServerConfig::model_type (deprecated) nor "
            f"ModelServerConfig::model_platform, model name is {model.name}"
        )
    if model.model_type not in (0, _TENSORFLOW) or model.model_platform not in ("", "tensorflow"):
        platform = model.model_platform or model.model_type
        raise errors.invalid_argument(
            f"Model {model.name} requests unsupported platform {platform}"
        )


def merged_labels(
    configs: Mapping[str, Any],
    before: Mapping[str, Mapping[str, int]],
    available: Mapping[str, set[int]],
    for_unavailable: bool,
) -> dict[str, dict[str, int]]:
    """Return the labels of each model's versions.

    Args:
      configs: the models.
      before: the labels so far.
      available: the numbers of the versions that serve.
      for_unavailable: whether a new label may name a version that does not serve yet.

    Raises:
      FailedPreconditionError: if a label names a version that it must not name yet.
    """
    for name, config in configs.items():
        for label, number in config.version_labels.items():
            is_new = label not in before.get(name, {})
            if number not in available[name] and not (for_unavailable and is_new):
                raise errors.failed_precondition(
                    f"Request to assign label to version {number} of model {name}, which is not "
                    "currently available for inference"
                )
    return {name: dict(config.version_labels) for name, config in configs.items()}
