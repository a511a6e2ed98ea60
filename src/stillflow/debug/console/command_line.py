"""Command line: reads commands, runs them, prints their output."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from stillflow.debug.console.run_console import Decision


PROMPT = "tfdbg> "


class CommandError(Exception):
    """Error: a command cannot be executed; the message has the reason."""


class Done(Exception):
    """End of the console.

    Args:
      answer: what it has led to.
    """

    def __init__(self, answer: Any = None) -> None:
        super().__init__(answer)
        self.answer = answer


class Parser(argparse.ArgumentParser):
    """Complains by `CommandError` where others would end the program."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f'{message}\nFor help, do "help {self.prog}"')

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise CommandError(message or "")


@dataclass
class Command:
    """Command of the console.

    Args:
      name: its name.
      alias: its short name, or "".
      text: what it does, in a sentence.
      run: takes the parsed arguments, gives lines.
      options: argparse arguments: names, and their settings.
    """

    name: str
    alias: str
    text: str
    run: Callable[[Any], Iterable[str]]
    options: Sequence[tuple[Sequence[str], dict[str, Any]]] = ()
    parser: Parser = field(init=False)

    def __post_init__(self) -> None:
        self.parser = Parser(prog=self.name, description=self.text, add_help=False)
        for names, settings in self.options:
            self.parser.add_argument(*names, **settings)

    def help(self) -> list[str]:
        """Its usage, as lines."""
        title = f"{self.name}, {self.alias}" if self.alias else self.name
        return [title, *(f"  {line}" for line in self.parser.format_help().splitlines()), ""]


class CommandLine:
    """Asks for commands until one of them raises `Done`.

    Args:
      commands: commands in addition to "help" and "exit".
      names: what else may stand in a command: completed by the tab key.
      read: gives a line for a prompt, raises EOFError at the end; `input` if None.
      write: prints a line.
    """

    def __init__(
        self,
        commands: Iterable[Command],
        names: Iterable[str] = (),
        read: Callable[[str], str] | None = None,
        write: Callable[[str], Any] = print,
    ) -> None:
        about = [(("command",), {"nargs": "?", "help": "the command to explain"})]
        leave = Command("exit", "quit", "Leave the debugger and end the program.", _leave)
        help_ = Command("help", "h", "Say what commands there are.", self._help, about)
        self._commands = [*commands, help_, leave]
        self._by_name = {command.name: command for command in self._commands}
        self._by_name.update({command.alias: command for command in self._commands})
        self._by_name.pop("", None)
        self._names = sorted(names)
        self._read, self._write = read or input, write

    def converse(self, opening: Iterable[str]) -> Decision | None:
        """Print `opening`, then answer commands; return the argument of `Done`."""
        _complete(self._completions)
        for line in opening:
            self._write(line)
        while True:
            try:
                text = self._read(PROMPT).strip()
                if text:
                    for line in self.answer(text):
                        self._write(line)
            except Done as done:
                return done.answer
            except EOFError:
                return None
            except KeyboardInterrupt:
                self._write('\nTo end the program, do "exit".')

    def answer(self, text: str) -> list[str]:
        """Return a command's output, or its errors."""
        try:
            (name, *arguments), file = _redirected(shlex.split(text))
            command = self._by_name.get(name)
            if command is None:
                raise CommandError(f'Invalid command prefix "{name}"; "help" lists those there are')
            lines = list(command.run(command.parser.parse_args(_protected(arguments))))
            if file is not None:
                with open(file, "w", encoding="utf-8") as stream:
                    stream.writelines(f"{line}\n" for line in lines)
                lines.append(f"Wrote output to {file}")
        except CommandError as error:
            return [f"ERROR: {error}"]
        except Done:
            raise
        except Exception as error:  # any error of a filter or an expression
            return [f"ERROR: {type(error).__name__}: {error}"]
        return lines

    def _help(self, arguments: Any) -> list[str]:
        if arguments.command is None:
            width = max(len(command.name) for command in self._commands)
            return [
                f"  {command.name:<{width}}  {command.alias:<4}  {command.text}"
                for command in self._commands
            ] + ['  "help COMMAND" tells more, "COMMAND > FILE" writes into a file.']
        if arguments.command not in self._by_name:
            raise CommandError(f'there is no command "{arguments.command}"')
        return self._by_name[arguments.command].help()

    def _completions(self, text: str) -> list[str]:
        return [name for name in (*self._by_name, *self._names) if name.startswith(text)]


def _leave(arguments: Any) -> NoReturn:
    del arguments
    raise Done


def _redirected(words: list[str]) -> tuple[list[str], str | None]:
    """Return the words of a command, and the output file of "> FILE" at the end."""
    if words[-1] == ">":
        raise CommandError("Redirect file path is empty")
    if len(words) > 2 and words[-2] == ">":
        return words[:-2], words[-1]
    if len(words) > 1 and words[-1].startswith(">"):
        return words[:-1], words[-1][1:]
    return words, None


def _protected(arguments: list[str]) -> list[str]:
    """Arguments as argparse takes them: an interval may begin with a minus."""
    return [f" {a}" if a[:1] == "-" and a[1:2].isdigit() else a for a in arguments]


def _complete(completions: Callable[[str], list[str]]) -> None:
    """Complete words at the tab key, if the terminal can."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        return
    try:
        import readline
    except ImportError:  # a Python that was built without
        return

    def complete(text: str, state: int) -> str | None:
        found = completions(text)
        return found[state] if state < len(found) else None

    readline.set_completer_delims(" \t")
    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
