"""Slots of a lower layer that a layer above fills.

A module names only lower layers. Where it needs something from above (a graph that folds constants
needs kernels) it declares a typed `Hook`, and the module above provides the value when it is
imported. `_providers.py` lists that module; the hook imports it on first use.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:  # `import stillflow` reads this module, and does without typing
    from typing import Any, Generic, TypeVar

    T = TypeVar("T")
else:
    T = None

    class Generic:
        def __class_getitem__(cls, item):
            return cls


# Hook -> the module that provides it, filled by `_providers.py` when the package is imported.
PROVIDERS: dict[str, str] = {}


class Hook(Generic[T]):
    """One value that a layer above provides.

    Args:
      name: the key in `PROVIDERS`: module and name of the hook, without `stillflow.`.

    Attributes:
      value: what was provided. Reading it imports the provider if that was not imported yet.
    """

    value: T

    def __init__(self, name: str) -> None:
        self.name = name

    def provide(self, value: T) -> None:
        """Fill the hook; the module in `PROVIDERS` does so when it is imported."""
        self.value = value

    def __getattr__(self, attribute: str) -> Any:  # only reached while there is no value
        if attribute != "value":
            raise AttributeError(attribute)
        importlib.import_module(PROVIDERS[self.name])
        return self.__dict__["value"]

    def __repr__(self) -> str:
        return f"<hook {self.name}>"
