"""Settings of the debugger's console; kept in a file, as by TensorFlow."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from stillflow.debug.console.command_line import Command, CommandError

_DEFAULTS: dict[str, Any] = {"graph_recursion_depth": 20, "mouse_mode": True}
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})
_FALSE = frozenset({"0", "false", "f", "no", "n", "off"})


class Config:
    """Settings by name.

    Args:
      path: the file; `.tfdbg_config` of the home folder if None. Where it cannot be read or
        written, settings last as long as the program.
    """

    def __init__(self, path: str | None = None) -> None:
        self._path = path or os.path.join(os.path.expanduser("~"), ".tfdbg_config")
        self._values = dict(_DEFAULTS)
        try:
            with open(self._path, encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError):
            return
        if isinstance(found, dict):
            known = {key: value for key, value in found.items() if key in _DEFAULTS}
            self._values.update(
                (key, value) for key, value in known.items() if type(value) is type(_DEFAULTS[key])
            )

    def get(self, name: str) -> Any:
        """Return a setting's value."""
        return self._values[name]

    def set(self, name: str, text: str) -> None:
        """Change a setting, and write the file.

        Raises:
          CommandError: if there is no such setting, or no such value for it.
        """
        if name not in self._values:
            raise CommandError(f"{name} is not a valid property name.")
        value: Any
        if isinstance(self._values[name], bool):
            if text.lower() not in _TRUE | _FALSE:
                raise CommandError(f"Invalid string value for bool type: {text}")
            value = text.lower() in _TRUE
        elif not text.lstrip("-").isdigit():
            raise CommandError(f"{name} is a number, not {text}")
        else:
            value = int(text)
        self._values[name] = value
        try:
            with open(self._path, "w", encoding="utf-8") as file:
                json.dump(self._values, file)
        except OSError as error:
            raise CommandError(f"set, but not kept for later: {error}") from error

    def lines(self) -> list[str]:
        """All settings as text."""
        values = [f"  {name}: {value}" for name, value in self._values.items()]
        return ["Command-line configuration:", "", *values, ""]


def config_command(config: Config) -> Command:
    """Return the command that shows and changes settings."""

    def run(arguments: Any) -> Iterable[str]:
        if arguments.what == "set":
            if arguments.name is None or arguments.value is None:
                raise CommandError("name a setting and its value: config set NAME VALUE")
            config.set(arguments.name, arguments.value)
        return config.lines()

    return Command(
        "config", "cfg", "Show settings, or change one: config set graph_recursion_depth 5.", run,
        [(("what",), {"nargs": "?", "choices": ["set", "show"], "default": "show"}),
         (("name",), {"nargs": "?"}), (("value",), {"nargs": "?"})],
    )  # fmt: skip
