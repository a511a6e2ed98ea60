"""The command line: run a TensorFlow 1 program, or one of Stillflow's own commands.

A command is a module of this package with a function ``main(arguments) -> exit status``; its
docstring's first line is its help. Add it to ``COMMANDS``.
"""

from __future__ import annotations

import importlib
import os
import sys

COMMANDS = {
    "enable": "make plain `python` of this environment serve tensorflow",
    "disable": "undo `enable`",
    "status": "say what `import tensorflow` means in this environment",
    "doctor": "check the installation: devices, problems, and how to fix them",
    "check": "say which names of TensorFlow a program uses, and which are supported",
    "explain": "run a program and show the plan of each session.run, with times",
    "launch": "start a program as several processes that train together, as horovodrun does",
    "where": "say which file serves a name of TensorFlow, and which operations it makes",
    "stubs": "write stub files, with which editors and type checkers know `import tensorflow`",
    "build-op": "compile operations written in C++ or CUDA for tf.load_op_library",
    "convert": "convert a checkpoint to safetensors or npz, and back",
    "export": "write a model as a PyTorch module, as ONNX or for torch.export",
    "serve": "serve models by gRPC and REST, as TensorFlow Serving does",
    "inspect": "list the content of a checkpoint, graph, SavedModel, TFRecord file or event file",
    "tensorboard": "start TensorBoard, its projector with checkpoints included",
    "freeze_graph": "put a checkpoint's values into a graph as constants",
    "optimize_for_inference": "make a frozen graph infer with less work",
    "strip_unused": "remove from a graph what some of its nodes do not need",
    "inspect_checkpoint": "print the tensors in a checkpoint",
    "import_pb_to_tensorboard": "write a graph into an event file for TensorBoard",
    "saved_model_cli": "show the content of a SavedModel, and run it",
    "offline_analyzer": "look at what a debugger has dumped",
}
# Commands that are tools of TensorFlow's.
_TOOLS = frozenset(
    {
        "freeze_graph",
        "import_pb_to_tensorboard",
        "inspect_checkpoint",
        "offline_analyzer",
        "optimize_for_inference",
        "saved_model_cli",
        "strip_unused",
    }
)

_TOLD = (AssertionError, KeyError, RuntimeError, ValueError)  # so they say what is wrong

USAGE = """\
usage: python -m stillflow [options] program.py [arguments ...]
       python -m stillflow [options] -m module [arguments ...]
       python -m stillflow [options] -c code [arguments ...]
       python -m stillflow COMMAND [arguments ...]

Run a TensorFlow 1 program unmodified: `import tensorflow` is served by Stillflow.

options:
  --find-nan     run operations one by one; stop where the first NaN arises, and name its line
  --metrics_port N  show metrics of this task of a cluster for Prometheus
  --python2      take the program for one of Python 2, also where Python 3 can read it
  --tf0[=0.X]    serve the names and argument orders of TensorFlow 0.12, or of 0.5 to 0.11
  --no-revive    leave out what Python and NumPy have removed since TensorFlow 1.15
  -h, --help     show this text
  -V, --version  show the version

commands:
{commands}"""


def main(arguments: list[str]) -> int | None:
    """Run the command; return the exit status, None for that of the program."""
    options = {"--no-revive": False, "--find-nan": False, "--python2": False}
    tf0 = None
    while arguments and arguments[0].startswith("-") and arguments[0] not in ("-", "-m", "-c"):
        option, *arguments = arguments
        if option in ("-h", "--help"):
            print(usage())
            return 0
        if option in ("-V", "--version"):
            import stillflow

            version = f"Stillflow {stillflow.__stillflow_version__}"
            print(f"{version} (TensorFlow {stillflow.__version__})")
            return 0
        if option == "--tf0" or option.startswith("--tf0="):
            tf0 = option.partition("=")[2] or "0.12"
            continue
        name, equals, port = option.partition("=")
        if name == "--metrics_port":
            if not equals and arguments:
                port, *arguments = arguments
            if not port.isdecimal():
                return wrong("--metrics_port needs a number")
            os.environ["STILLFLOW_METRICS_PORT"] = port
            continue
        if option not in options:
            return wrong(f"unknown option {option}")
        options[option] = True
    if not arguments:
        return wrong("name a program to run")
    if arguments[0] in COMMANDS:
        return _run_command(arguments[0], arguments[1:])
    if arguments[0] in ("-m", "-c") and len(arguments) < 2:
        return wrong(f"{arguments[0]} needs an argument")
    meant = _mistyped(arguments[0])
    if meant:
        return wrong(f"there is no program and no command {arguments[0]}; is it {meant}?")
    from stillflow.cli.run import run

    revive = not options["--no-revive"]
    if options["--python2"] and not revive:
        return wrong("--python2 and --no-revive exclude each other")
    if tf0 is not None:
        from stillflow.facade.tf0 import activate

        try:
            activate(tf0)
        except ValueError as error:
            return wrong(str(error))
    run(arguments, revive, find_nan=options["--find-nan"], python2=options["--python2"])
    return None


def _run_command(name: str, arguments: list[str]) -> int:
    package = "tools" if name in _TOOLS else "cli"
    command = importlib.import_module(f"stillflow.{package}.{name.replace('-', '_')}")
    if name not in _TOOLS:
        status: int = command.main(arguments)
        return status
    from stillflow import errors

    # As functions, which programs call, these raise; of a command a user wants but the sentence.
    try:
        return int(command.main(arguments) or 0)
    except (errors.OpError, OSError, *_TOLD) as error:
        message = error.message if isinstance(error, errors.OpError) else str(error)
        if isinstance(error, KeyError) and error.args:
            message = str(error.args[0])
        if " " not in message:  # no sentence: nobody meant it to be read
            raise
        print(f"{name}: {message}", file=sys.stderr)
        return 1


def _mistyped(program: str) -> str | None:
    """Return the command that was meant by a word that is none, and no file either."""
    if not program.isidentifier() or os.path.exists(program):
        return None
    from difflib import get_close_matches

    return next(iter(get_close_matches(program, COMMANDS, 1, 0.75)), None)


def takes_nothing(command: str, arguments: list[str]) -> None:
    """Parse the command line of a command without arguments; --help and others end here."""
    import argparse

    argparse.ArgumentParser(
        prog=f"python -m stillflow {command}", description=f"{COMMANDS[command]}."
    ).parse_args(arguments)


def usage() -> str:
    """Return the help text."""
    width = max(map(len, COMMANDS))
    return USAGE.format(
        commands="\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    )


def wrong(message: str) -> int:
    """Complain about the command line; returns the exit status."""
    print(f"{usage().partition(chr(10) * 2)[0]}\nstillflow: {message}", file=sys.stderr)
    return 2
