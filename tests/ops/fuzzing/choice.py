"""Choice of operations for random calls."""

from __future__ import annotations

from stillflow.graph import card as cards

# They end the process, run Python, or wait for other processes.
SKIPPED = {"Abort", "PyFunc", "PyFuncStateless", "EagerPyFunc"}


def operations() -> list[str]:
    """Return the op types that random calls are made of."""
    return sorted(
        name
        for name, card in cards.load_all().items()
        if name not in SKIPPED
        and card.effect not in ("network", "runs Python")
        and not card.elsewhere
        and not name.startswith("_")
        and card.kernel_part is not None
    )
