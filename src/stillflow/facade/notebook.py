"""Notebooks: ``%load_ext stillflow``, and the ``%tensorflow_version 1.x`` magic of old ones."""

from __future__ import annotations

from typing import Any

from stillflow._home import FOLDERS
from stillflow.facade import frames


def load(shell: Any) -> None:
    """Serve tensorflow in an IPython shell, register the magic, and show errors in few lines."""
    from stillflow.facade.install import install_and_revive

    install_and_revive()
    shell.register_magic_function(
        tensorflow_version, magic_kind="line", magic_name="tensorflow_version"
    )
    shell.set_custom_exc((Exception,), show)


def show(shell: Any, kind: type, error: Exception, traceback: Any, tb_offset: Any = None) -> Any:
    """Show an error that a cell ends with, without our frames unless `%xmode Verbose` holds."""
    if shell.InteractiveTB.mode != "Verbose":
        own = traceback.tb_frame.f_code.co_filename if traceback else ""
        frames.cut(error, lambda path: path != own and _is_ours(path))
        frames.forget_hidden_causes(error)
    return shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)


def _is_ours(path: str) -> bool:
    """Return True if code is of this package, or of a plan that it compiled."""
    return path.startswith((*FOLDERS, "<plan "))


def tensorflow_version(line: str) -> None:
    """Choose a version of TensorFlow: ``%tensorflow_version 1.x``."""
    wanted = line.partition("#")[0].strip()
    if wanted and not (wanted == "1" or wanted.startswith("1.")):
        raise ValueError(f"Stillflow serves TensorFlow 1.15.5, not {wanted}")
    print("TensorFlow 1.x selected.")
