"""Identification of the importer of ``tensorflow``.

Some libraries only probe for TensorFlow, to offer extras over it that need the real one.  They
see none, unless ``STILLFLOW_ALLOW`` names them ("keras,tensorboard").  Keras before 2.4 computes
with TensorFlow 1 and does see it.  A program's own folder can bear such a name, too.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from pathlib import Path
from types import FrameType

PROBING = frozenset(
    {
        "accelerate",
        "datasets",
        "huggingface_hub",
        "keras",
        "tensorboard",
        "tensorboardX",
        "torch",
        "transformers",
        "wandb",
    }
)
# Calls that build a graph, in libraries that otherwise only probe.
_BUILDING = re.compile(
    r"tensorboard\.(plugins\.\w+\.(summary|summary_v2|_keras)|summary\._tf\b.*|util\.\w+)$"
)
_INSTALLED = frozenset({"site-packages", "dist-packages"})  # folders
_MACHINERY = frozenset(
    {
        "importlib",
        "_frozen_importlib",
        "_frozen_importlib_external",
        "pkgutil",
        "stillflow",
        "stillflow_contrib",
    }
)


def denied() -> bool:
    """Return whether the code that imports or looks up right now belongs to such a library."""
    caller, file = _caller()
    library = caller.partition(".")[0]
    if library not in PROBING or _BUILDING.match(caller) or _of_program(library, file):
        return False
    return not allowed(library)


def allowed(library: str) -> bool:
    """Return whether one of these libraries may see TensorFlow."""
    if library in os.environ.get("STILLFLOW_ALLOW", "").split(","):
        return True
    return library == "keras" and _keras_of_old()


@functools.cache
def _of_program(library: str, file: str) -> bool:
    """Return whether a module of that name is none of an installed library's."""
    from importlib.metadata import PackageNotFoundError, distribution

    if not file or not _INSTALLED.isdisjoint(Path(file).parts):
        return False
    try:
        found = distribution(library)
    except PackageNotFoundError:
        return True
    if '"editable": true' in (found.read_text("direct_url.json") or ""):
        return False
    return not Path(file).resolve().is_relative_to(Path(str(found.locate_file(""))).resolve())


@functools.cache
def _keras_of_old() -> bool:
    """Return True if Keras is for TensorFlow 1, also as a copy in a program's folder."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        major, minor = version("keras").split(".")[:2]
    except PackageNotFoundError:
        return True
    return (int(major), int(minor)) < (2, 4)


def _caller() -> tuple[str, str]:
    """Return name and file of the first module outside of the import machinery, "" if none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in _MACHINERY:
            return name, str(frame.f_globals.get("__file__") or "")
        frame = frame.f_back
    return "", ""
