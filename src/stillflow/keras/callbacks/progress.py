"""Progress on the terminal."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from stillflow.graph.export import export
from stillflow.keras.callbacks.base import Callback


@export("keras.utils.Progbar")
class Progbar:
    """A bar that grows.

    Args:
      target: where it ends, or None if that is not known.
      width: in characters.
      verbose: 0 for nothing, 1 for a bar, 2 for a line at the end.
      interval: the least time between updates, in seconds.
      stateful_metrics: the names of values that are shown as they are, not as means.
      unit_name: what is counted.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Any = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose = target, width, verbose
        self.interval, self.unit_name = interval, unit_name
        self.stateful_metrics = set(stateful_metrics or ())
        self._shown = self._seen = 0
        self._values: dict[str, tuple[Any, int]] = {}
        self._start, self._last_update = time.time(), 0.0

    def update(self, current: int, values: Any = None) -> None:
        """Show how far it is.

        Args:
          current: the count.
          values: pairs (name, value).
        """
        for name, value in values or ():
            if name in self.stateful_metrics:
                self._values[name] = value, 1
            else:
                total, weight = self._values.get(name, (0, 0))
                more = current - self._seen
                self._values[name] = total + value * more, weight + more
        self._seen = current
        now = time.time()
        done = self.target is None or current >= self.target
        if self.verbose == 1:
            if done or now - self._last_update >= self.interval:
                self._draw(current, now)
        elif self.verbose == 2 and self.target is not None and done:
            count = f"{current:{len(str(self.target))}d}/{self.target}"
            self._write(f"{count} - {now - self._start:.0f}s{self._means()}\n")
        self._last_update = now

    def add(self, n: int, values: Any = None) -> None:
        """Update by `n` more."""
        self.update(self._seen + n, values)

    def _draw(self, current: int, now: float) -> None:
        before = self._shown
        bar = self._bar(current)
        info = self._times(current, now) + self._means()
        self._shown = len(bar) + len(info)
        info += " " * max(0, before - self._shown)
        if self.target is not None and current >= self.target:
            info += "\n"
        self._write("\b" * before + "\r" + bar + info)

    def _bar(self, current: int) -> str:
        if self.target is None:
            return f"{current:7d}/Unknown"
        filled = int(self.width * current / self.target)
        tip = ">" if current < self.target else "="
        bar = ("=" * (filled - 1) + tip if filled > 0 else "") + "." * (self.width - filled)
        return f"{current:{len(str(self.target))}d}/{self.target} [{bar}]"

    def _times(self, current: int, now: float) -> str:
        per_unit = (now - self._start) / current if current else 0.0
        if self.target is not None and current < self.target:
            left = int(per_unit * (self.target - current))
            if left > 3600:
                return f" - ETA: {left // 3600}:{left % 3600 // 60:02d}:{left % 60:02d}"
            if left > 60:
                return f" - ETA: {left // 60}:{left % 60:02d}"
            return f" - ETA: {left}s"
        info = f" - {now - self._start:.0f}s"
        if per_unit >= 1 or per_unit == 0:
            return f"{info} {per_unit:.0f}s/{self.unit_name}"
        if per_unit >= 1e-3:
            return f"{info} {per_unit * 1e3:.0f}ms/{self.unit_name}"
        return f"{info} {per_unit * 1e6:.0f}us/{self.unit_name}"

    def _means(self) -> str:
        info = ""
        for name, (total, weight) in self._values.items():
            mean = float(np.mean(total / max(1, weight)))
            info += f" - {name}: {mean:.4f}" if abs(mean) > 1e-3 else f" - {name}: {mean:.4e}"
        return info

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


@export("keras.callbacks.ProgbarLogger")
class ProgbarLogger(Callback):
    """Callback that shows the progress of epochs.

    Args:
      count_mode: "samples" or "steps".
      stateful_metrics: the names of what is a mean already.

    Raises:
      ValueError: for another mode.
    """

    progbar: Progbar

    def __init__(self, count_mode: str = "samples", stateful_metrics: Any = None) -> None:
        super().__init__()
        if count_mode not in ("samples", "steps"):
            raise ValueError(f"Unknown `count_mode`: {count_mode}")
        self.use_steps = count_mode == "steps"
        self.stateful_metrics = set(stateful_metrics or ())
        self.verbose = self.seen = 0
        self.epochs = 1
        self.target: int | None = None
        self.log_values: list[tuple[str, Any]] = []

    def on_train_begin(self, logs: Any = None) -> None:
        """Set the length of the bar."""
        self.verbose, self.epochs = self.params["verbose"], self.params["epochs"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begins a bar."""
        unit = "step" if self.use_steps else "sample"
        self.seen, self.target = 0, self.params[f"{unit}s"]
        if self.verbose and self.epochs > 1:
            print(f"Epoch {epoch + 1}/{self.epochs}")
        means = self.stateful_metrics
        self.progbar = Progbar(
            self.target, verbose=self.verbose, stateful_metrics=means, unit_name=unit
        )

    def on_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Forget the values of the last step."""
        self.log_values = []

    def _log(self, logs: Any) -> None:
        known = self.params["metrics"]
        self.log_values += [(key, logs[key]) for key in known if key in (logs or {})]

    def on_batch_end(self, batch: int, logs: Any = None) -> None:
        """Advance the bar."""
        logs = logs or {}
        steps = logs.get("num_steps", 1)
        self.seen += steps if self.use_steps else logs.get("size", 0) * steps
        self._log(logs)
        if self.verbose and (self.target is None or self.seen < self.target):
            self.progbar.update(self.seen, self.log_values)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Show the results."""
        self._log(logs)
        if self.verbose:
            self.progbar.update(self.seen, self.log_values)
