"""Show the content of a SavedModel, and run it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import trust
from stillflow.graph.graph import Graph
from stillflow.protos import DataType
from stillflow.runtime.session.session import Session
from stillflow.saved_model import reading
from stillflow.tools import saved_model_utils
from stillflow.tools.saved_model_inputs import (
    load_inputs_from_input_arg_string,
    preprocess_input_examples_arg_string,
    preprocess_input_exprs_arg_string,
    preprocess_inputs_arg_string,
)

__all__ = [
    "create_parser",
    "get_meta_graph_def",
    "get_signature_def_map",
    "load_inputs_from_input_arg_string",
    "main",
    "preprocess_input_examples_arg_string",
    "preprocess_input_exprs_arg_string",
    "preprocess_inputs_arg_string",
    "run",
    "run_saved_model_with_feed_dict",
    "scan",
    "scan_meta_graph_def",
    "show",
]

_HEAD = "The given SavedModel SignatureDef contains the following"


def get_meta_graph_def(saved_model_dir: str, tag_set: str) -> Any:
    """Return the `MetaGraphDef` with these tags; see `saved_model_utils`."""
    return saved_model_utils.get_meta_graph_def(saved_model_dir, tag_set)


def get_signature_def_map(saved_model_dir: str, tag_set: str) -> Any:
    """Return the signatures of the graph with these tags, by name; RuntimeError if none."""
    return get_meta_graph_def(saved_model_dir, tag_set).signature_def


# ---- show


def show(args: Any) -> None:
    """Print tags, names of signatures, a signature, or everything, as requested."""
    if args.all:
        _show_all(args.dir)
    elif args.tag_set is None:
        print("The given SavedModel contains the following tag-sets:")
        for tag_set in sorted(saved_model_utils.get_saved_model_tag_sets(args.dir)):
            print(", ".join(sorted(tag_set)))
    elif args.signature_def is None:
        print("The given SavedModel MetaGraphDef contains SignatureDefs with the following keys:")
        for key in sorted(get_signature_def_map(args.dir, args.tag_set)):
            print(f'SignatureDef key: "{key}"')
    else:
        graph = get_meta_graph_def(args.dir, args.tag_set)
        _show_signature(graph.signature_def[args.signature_def])


def _show_all(directory: str) -> None:
    for tags in sorted(saved_model_utils.get_saved_model_tag_sets(directory)):
        names = ", ".join(tags)
        print(f"\nMetaGraphDef with tag-set: '{names}' contains the following SignatureDefs:")
        for key, signature in sorted(get_signature_def_map(directory, ",".join(tags)).items()):
            print(f"\nsignature_def['{key}']:")
            _show_signature(signature, "  ")


def _show_signature(signature: Any, indent: str = "") -> None:
    for kind, infos in (("input", signature.inputs), ("output", signature.outputs)):
        print(f"{indent}{_HEAD} {kind}(s):")
        for key, info in sorted(infos.items()):
            print(f"{indent}  {kind}s['{key}'] tensor_info:")
            _print_tensor_info(info, len(indent) // 2 + 1)
    print(f"{indent}Method name is: {signature.method_name}")


def _print_tensor_info(tensor_info: Any, indent: int = 0) -> None:
    shape = "unknown_rank"
    if not tensor_info.tensor_shape.unknown_rank:
        shape = f"({', '.join(str(dim.size) for dim in tensor_info.tensor_shape.dim)})"
    margin = "  " * indent + "    "
    print(f"{margin}dtype: {DataType.Name(tensor_info.dtype)}")
    print(f"{margin}shape: {shape}")
    print(f"{margin}name: {tensor_info.name}")


# ---- run


def run(args: Any) -> None:
    """Run a signature of a model with the arguments' feeds; AttributeError if there are none."""
    if not (args.inputs or args.input_exprs or args.input_examples):
        raise AttributeError(
            "At least one of --inputs, --input_exprs or --input_examples must be required"
        )
    for name in ("init_tpu", "tf_debug"):
        if getattr(args, name):
            raise errors.unimplemented(f"--{name} is not supported")
    feeds = load_inputs_from_input_arg_string(
        args.inputs, args.input_exprs, args.input_examples, args.allow_python
    )
    with trust.limited(args.trust):
        run_saved_model_with_feed_dict(
            args.dir, args.tag_set, args.signature_def, feeds, args.outdir, args.overwrite,
            args.worker,
        )  # fmt: skip


def run_saved_model_with_feed_dict(
    saved_model_dir: str,
    tag_set: str,
    signature_def_key: str,
    input_tensor_key_feed_dict: dict[str, Any],
    outdir: str | None,
    overwrite_flag: bool,
    worker: str | None = None,
) -> None:
    """Run a signature with feeds by key, print its outputs, and write them to NumPy's files.

    The tags of the graph have commas between them; files go to `outdir`, nowhere if None, and are
    replaced, or RuntimeError. A server `worker` runs it, if given.
    """
    signature = get_meta_graph_def(saved_model_dir, tag_set).signature_def[signature_def_key]
    for key in input_tensor_key_feed_dict:
        if key not in signature.inputs:
            keys = '", "'.join(signature.inputs)
            raise ValueError(
                f'"{key}" is not a valid input key. Please choose from "{keys}", or use --show '
                "option."
            )
    feed = {signature.inputs[key].name: v for key, v in input_tensor_key_feed_dict.items()}
    names = sorted(signature.outputs)
    with Session(worker or "", graph=Graph()) as session:
        reading.load(session, tag_set.split(","), saved_model_dir)
        outputs = session.run([signature.outputs[name].name for name in names], feed_dict=feed)
    for name, output in zip(names, outputs):
        print(f"Result for output key {name}:\n{output}")
        if outdir:
            _save(output, outdir, name, overwrite_flag)


def _save(output: Any, directory: str, key: str, overwrite: bool) -> None:
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, f"{key}.npy")
    if not overwrite and os.path.exists(path):
        raise RuntimeError(
            f'Output file {path} already exists. Add "--overwrite" to overwrite the existing '
            "output files."
        )
    np.save(path, output)
    print(f"Output {key} is saved to {path}")


# ---- scan


def scan(args: Any) -> None:
    """Says which graphs have operations that do more than compute and keep state."""
    if args.tag_set:
        scan_meta_graph_def(get_meta_graph_def(args.dir, args.tag_set))
    else:
        for graph in saved_model_utils.read_saved_model(args.dir).meta_graphs:
            scan_meta_graph_def(graph)


def scan_meta_graph_def(meta_graph_def: Any) -> None:
    """Scan one graph and its functions; see `scan`."""
    effects = trust.effects_of_model(meta_graph_def)
    tags = list(meta_graph_def.meta_info_def.tags)
    if effects:
        found = {op for ops in effects.values() for op in ops}
        print(f"MetaGraph with tag set {tags} contains the following blacklisted ops:", found)
        for effect, ops in sorted(effects.items()):
            print(f"  {effect}: {', '.join(ops)}")
    else:
        print(f"MetaGraph with tag set {tags} does not contain blacklisted ops.")


# ---- The command line

_DIR = ("--dir", {"required": True, "help": "the directory of the SavedModel"})
_TAGS = "the graph's tags, with commas between them"
_COMMANDS: dict[str, tuple[Any, str, list[tuple[str, dict[str, Any]]]]] = {
    "show": (
        show,
        "Show tags, signatures, inputs and outputs.",
        [
            _DIR,
            ("--all", {"action": "store_true", "help": "show everything"}),
            ("--tag_set", {"help": _TAGS}),
            ("--signature_def", {"metavar": "SIGNATURE_DEF_KEY", "help": "show this signature"}),
        ],
    ),
    "run": (
        run,
        "Run a signature.",
        [
            _DIR,
            ("--tag_set", {"required": True, "help": _TAGS}),
            ("--signature_def", {"required": True, "metavar": "SIGNATURE_DEF_KEY",
                                 "help": "the signature"}),
            ("--inputs", {"default": "", "help": "key=file;key=file[name]: arrays in .npy, .npz "
                                                 "or pickle files"}),
            ("--input_exprs", {"default": "", "help": "key=expression;key=expression: literals, "
                                                      "arithmetic, arrays of NumPy, which is np"}),
            ("--allow_python", {"action": "store_true", "help": "let expressions be any Python"}),
            ("--trust", {"default": "pure", "choices": ["pure", "all"],
                         "help": "all: let the model read and write files and run Python"}),
            ("--input_examples", {"default": "", "help": "key=[{feature:values}]: examples"}),
            ("--outdir", {"help": "where the outputs are written"}),
            ("--overwrite", {"action": "store_true", "help": "replace files that are there"}),
            ("--tf_debug", {"action": "store_true", "help": "not supported"}),
            ("--worker", {"help": "the address of a server that runs it"}),
            ("--init_tpu", {"action": "store_true", "default": None, "help": "not supported"}),
        ],
    ),
    "scan": (
        scan,
        "Find operations that read or write files, run Python or use the network.",
        [_DIR, ("--tag_set", {"help": _TAGS})],
    ),
}  # fmt: skip


def create_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; `func` of its result is `show`, `run` or `scan`."""
    parser = argparse.ArgumentParser(prog="saved_model_cli", description=__doc__)
    parser.add_argument("-v", "--version", action="version", version="0.1.0")
    commands = parser.add_subparsers(title="commands")
    for name, (function, text, options) in _COMMANDS.items():
        command = commands.add_parser(name, description=text, help=text)
        for option, arguments in options:
            command.add_argument(option, **arguments)
        command.set_defaults(func=function)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = create_parser()
    args = parser.parse_args(arguments)
    if not hasattr(args, "func"):
        parser.error("too few arguments")
    args.func(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
