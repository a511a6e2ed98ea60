"""Versions of a model in its folder, and the policy that says which of them are wanted."""

from __future__ import annotations

import os
import posixpath
from typing import Any

from stillflow import errors
from stillflow.files import gfile

FILE_VERSION = 1  # of a model that is one file, or one folder without versions


def wanted_versions(config: Any) -> dict[int, str]:
    """Return the paths of the versions that a model's policy asks for, by number.

    Args:
      config: the `ModelConfig`.

    Raises:
      InvalidArgumentError: if the base path cannot be listed.
    """
    found = versions_in(config.name, config.base_path)
    policy = config.model_version_policy
    choice = policy.WhichOneof("policy_choice")
    if choice == "all":
        return found
    if choice == "specific":
        return {number: found[number] for number in policy.specific.versions if number in found}
    most = policy.latest.num_versions or 1
    return {number: found[number] for number in sorted(found)[-most:]}


def versions_in(name: str, base_path: str) -> dict[int, str]:
    """Return the paths of all versions of a model, by number.

    A version is a folder whose name is a number; of "1" and "01" the first in order counts.

    Raises:
      InvalidArgumentError: if the base path cannot be listed.
    """
    if _is_model(base_path):
        return {FILE_VERSION: base_path}
    try:
        children = sorted(child.rstrip("/") for child in gfile.list_directory(base_path))
    except errors.OpError as error:
        raise errors.invalid_argument(
            f"Could not find base path {base_path} for servable {name} with error {error.message}"
        ) from None
    found: dict[int, str] = {}
    for child in children:
        if child.isascii() and child.isdigit() and int(child) < 1 << 63:
            found.setdefault(int(child), join(base_path, child))
    return found


def _is_model(path: str) -> bool:
    """Return True for the path of one model: a file, a checkpoint's prefix, one SavedModel."""
    if not gfile.is_directory(path):
        return any(gfile.file_exists(path + end) for end in ("", ".meta", ".index"))
    return any(
        gfile.file_exists(join(path, name)) for name in ("saved_model.pb", "saved_model.pbtxt")
    )


def join(folder: str, *names: str) -> str:
    """Return a path below a folder, on the disk or in a store with a scheme."""
    return (posixpath if "://" in folder else os.path).join(folder, *names)
