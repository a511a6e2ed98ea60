"""Children of ``multiprocessing``: they see ``tensorflow`` as their parent does."""

from __future__ import annotations

from typing import Any


class _Install:
    """Installs the import hook in the process that unpickles it."""

    def __init__(self, revive: bool) -> None:
        self.revive = revive

    def __reduce__(self) -> tuple[Any, ...]:
        return _install, (self.revive,)


def _install(revive: bool) -> None:
    import stillflow

    stillflow.install(revive=revive)
    serve_in_children(revive)


def serve_in_children(revive: bool) -> None:
    """Send our hook with the data that a spawned child gets before it imports the program."""
    from stillflow.facade.revive.after import after_import

    after_import("multiprocessing.spawn", lambda module: _extend(module, revive))


def _extend(spawn: Any, revive: bool) -> None:
    original = spawn.get_preparation_data
    if getattr(original, "stillflow", False):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        data: dict[str, Any] = {"stillflow": _Install(revive)}
        data.update(original(name))
        return data

    get_preparation_data.stillflow = True  # type: ignore[attr-defined]
    spawn.get_preparation_data = get_preparation_data
