"""Console texts before and after a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from stillflow import nest
from stillflow.debug.console.command_line import Command, CommandError, CommandLine, Done
from stillflow.debug.console.config import Config, config_command
from stillflow.debug.console.node_commands import node_commands
from stillflow.debug.console.source_commands import source_commands
from stillflow.debug.console.tensor_commands import (
    HOW_TO_SHOW,
    list_tensors,
    shown,
    tensor_commands,
)
from stillflow.debug.dump_dir import DebugDumpDir
from stillflow.version import VERSION

Filters = dict[str, Callable[..., bool]]


@dataclass
class Decision:
    """Choice about the next runs.

    Args:
      times: stop at the last of so many.
      debug: whether to watch it.
      till: stop at the first in which a tensor passes this filter.
      exclude: with `till`: nodes to leave out, as a regular expression.
      node_name_filter: watch only nodes whose names match.
      op_type_filter: watch only nodes whose types match.
      tensor_dtype_filter: watch only tensors whose dtypes match.
    """

    times: int = 1
    debug: bool = True
    till: str | None = None
    exclude: str | None = None
    node_name_filter: str | None = None
    op_type_filter: str | None = None
    tensor_dtype_filter: str | None = None

    def watches(self) -> bool:
        """Return True if the next run is to be watched."""
        return self.till is not None or (self.debug and self.times <= 1)

    def count_down(self) -> bool:
        """Return a run that was not watched is over.

        Returns True if the console is to be shown at the next run.
        """
        self.times -= 1
        return self.times < 1 and not self.debug

    def stops_at(self, dump: DebugDumpDir, filters: Filters) -> bool:
        """Return True if to show a run that was watched."""
        if self.till is None:
            return True
        return bool(dump.find(filters[self.till], first_n=1, exclude_node_names=self.exclude))


def dump_commands(dump: DebugDumpDir, filters: Filters, config: Config) -> list[Command]:
    """Return the commands on the tensors of a run, with tensor filters by name."""
    return [
        *tensor_commands(dump, filters), *node_commands(dump, config), *source_commands(dump),
        config_command(config),
    ]  # fmt: skip


class RunConsole:
    """The conversation around one run.

    Args:
      number: which run it is, from 1.
      fetches: the fetches.
      feed_dict: the feeds.
      config: the settings.
    """

    def __init__(self, number: int, fetches: Any, feed_dict: Any, config: Config) -> None:
        self._number = number
        self._config = config
        self._fetches = [_name(fetch) for fetch in nest.flatten(fetches)]
        self._feeds = {_name(key): value for key, value in (feed_dict or {}).items()}

    def _title(self, when: str) -> str:
        parts = [_counted("fetch", "fetches", self._fetches)]
        parts.append(_counted("feed", "feeds", list(self._feeds)))
        return f"{when}: run #{self._number}: {'; '.join(parts)}"

    def at_start(self, filters: Filters) -> Decision | None:
        """Ask for a decision about the run; None to leave."""
        opening = [self._title("run-start"), *self._info(filters), ""]
        commands = [*self._commands(filters), config_command(self._config)]
        decision = CommandLine(commands).converse(opening)
        assert decision is None or isinstance(decision, Decision)
        return decision

    def at_end(
        self, dump: DebugDumpDir, filters: Filters, decision: Decision, error: Any
    ) -> Decision | None:
        """Show the tensors of the run, and ask about the next; None to leave."""
        commands = [*dump_commands(dump, filters, self._config), *self._commands(filters)]
        opening = [self._title("run-end")]
        if error is None:
            listing = commands[0].parser.parse_args(["-f", decision.till] if decision.till else [])
            opening += list_tensors(dump, filters, listing)
        else:
            opening += _failure(error)
        names = [datum.tensor_name for datum in dump.dumped_tensor_data]
        answer = CommandLine(commands, names).converse(opening)
        assert answer is None or isinstance(answer, Decision)
        return answer

    def _commands(self, filters: Filters) -> list[Command]:
        def text(what: str) -> dict[str, Any]:
            return {"help": what}

        return [
            Command(
                "run", "r", "Go on with the program.",
                lambda arguments: _decide(arguments, filters),
                [(("-t", "--times"), {"type": int, "default": 1,
                                      "help": "stop at the last of so many runs"}),
                 (("-n", "--no_debug"), {"action": "store_true",
                                         "help": "do not look at the next run"}),
                 (("-f", "--till_filter_pass"), text("go on until a tensor passes this filter")),
                 (("-fenn", "--filter_exclude_node_names"),
                  text("with -f: leave out nodes whose names match this")),
                 (("--node_name_filter",), text("watch only nodes whose names match this")),
                 (("--op_type_filter",), text("watch only nodes whose types match this")),
                 (("--tensor_dtype_filter",), text("watch only dtypes that match this"))],
            ),
            Command(
                "run_info", "ri", "Say what the run fetches and is fed.",
                lambda arguments: self._info(filters),
            ),
            Command(
                "print_feed", "pf", "Print what a tensor is fed.", self._print_feed,
                [(("tensor_name",), {}), *HOW_TO_SHOW],
            ),
            Command("version", "ver", "Say which versions these are.", _versions),
        ]  # fmt: skip

    def _info(self, filters: Filters) -> list[str]:
        return [
            "Fetches:", *(f"  {name}" for name in self._fetches),
            "Feeds:", *(f"  {name}" for name in self._feeds or ["(none)"]),
            f"Tensor filters: {', '.join(filters)}",
            'Do "run" to go on and look at the run, "run -n" to go on without looking,',
            '"run -t N" to look at the Nth, "run -f FILTER" to go on until a tensor passes,',
            '"help" for more.',
        ]  # fmt: skip

    def _print_feed(self, arguments: Any) -> Iterable[str]:
        import numpy as np

        name = arguments.tensor_name
        name = name if name in self._feeds else f"{name}:0"
        if name not in self._feeds:
            raise CommandError(f'the feeds have no "{arguments.tensor_name}"')
        value = self._feeds[name]
        array = np.asarray(value) if isinstance(value, (list, tuple, int, float)) else value
        return shown(f"{name} (feed)", array, arguments)


def _versions(arguments: Any) -> list[str]:
    import numpy as np
    import torch

    del arguments
    package: Any = sys.modules["stillflow"]  # which holds its version, not its public names
    return [
        f"TensorFlow version: {VERSION}",
        f"Stillflow version: {package.__stillflow_version__}", "",
        f"  numpy: {np.__version__}", f"  torch: {torch.__version__}", "",
    ]  # fmt: skip


def _decide(arguments: Any, filters: Filters) -> list[str]:
    if arguments.till_filter_pass is not None and arguments.till_filter_pass not in filters:
        raise CommandError(f'tensor filter "{arguments.till_filter_pass}" does not exist.')
    raise Done(
        Decision(
            arguments.times, not arguments.no_debug, arguments.till_filter_pass,
            arguments.filter_exclude_node_names, arguments.node_name_filter,
            arguments.op_type_filter, arguments.tensor_dtype_filter,
        )
    )  # fmt: skip


def _counted(one: str, several: str, names: list[str]) -> str:
    if not names:
        return f"0 {several}"
    if len(names) == 1:
        return f"1 {one} ({names[0]})"
    return f"{len(names)} {several}"


def _name(element: Any) -> str:
    return str(getattr(element, "name", element))


def _failure(error: Any) -> list[str]:
    lines = ["", "!!!!!! An error occurred during the run !!!!!!", "",
             *str(error.message).splitlines(), ""]  # fmt: skip
    if error.op is not None:
        name = error.op.name
        lines += [
            f"  ni -a -d -t {name}    shows the operation, and the line that made it",
            f"  li -r {name}          shows what led to it",
            "  lt                   lists the tensors computed before",
            "",
        ]
    return lines
