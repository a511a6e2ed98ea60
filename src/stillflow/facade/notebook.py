"""Notebooks: ``%load_ext stillflow``, and the ``%tensorflow_version 1.x`` magic of old ones."""

from __future__ import annotations

from typing import Any


def load(shell: Any) -> None:
    """Serve tensorflow in an IPython shell and register the magic.

    Args:
      shell: the shell, as IPython hands it to an extension.
    """
    import stillflow

    stillflow.install()
    shell.register_magic_function(
        tensorflow_version, magic_kind="line", magic_name="tensorflow_version"
    )


def tensorflow_version(line: str) -> None:
    """Choose a version of TensorFlow: ``%tensorflow_version 1.x``.

    Raises:
      ValueError: any other than 1.x is asked for.
    """
    wanted = line.partition("#")[0].strip()
    if wanted and not (wanted == "1" or wanted.startswith("1.")):
        raise ValueError(f"Stillflow serves TensorFlow 1.15.5, not {wanted}")
    print("TensorFlow 1.x selected.")
