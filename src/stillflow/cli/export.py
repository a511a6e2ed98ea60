"""Export a model of TensorFlow 1 as a PyTorch module, an ONNX model or a torch.export program.

MODEL is a frozen graph (.pb), the directory of a SavedModel, a checkpoint with its .meta file, or
a model of Keras (.h5) or TensorFlow Lite (.tflite). The exported model is compared with the session
on the same inputs.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from stillflow import errors

if TYPE_CHECKING:
    from stillflow.export.verification import Comparison


FORMATS = ("torch", "onnx", "pt2")


def main(arguments: list[str]) -> int:
    """Export; returns the exit status."""
    flags = _parser().parse_args(arguments)
    try:
        _export(flags)
    except (errors.OpError, OSError, ValueError, RuntimeError) as error:
        print(f"stillflow: {getattr(error, 'message', None) or error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    summary, _, details = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m stillflow export", description=summary, epilog=details
    )
    parser.add_argument("model", help="a file, a directory, or a checkpoint's prefix")
    parser.add_argument("--to", choices=FORMATS, required=True, help="the format")
    parser.add_argument(
        "-o", "--output", required=True, metavar="PATH", help="the folder, or the file"
    )
    parser.add_argument("--inputs", type=_names, metavar="NAMES", help="tensors: x:0,y:0")
    parser.add_argument("--outputs", type=_names, metavar="NAMES", help="tensors: logits:0")
    parser.add_argument(
        "--dynamic", action="append", default=[], metavar="INPUT=NAMES",
        help="names of dimensions whose size may change: x:0=batch,time",
    )  # fmt: skip
    parser.add_argument(
        "--layout", choices=("nhwc", "nchw"), default="nhwc",
        help="nchw: images of the PyTorch module have their channels first",
    )  # fmt: skip
    parser.add_argument(
        "--compiled", action="store_true", help="pt2: compile by AOTInductor, for this machine"
    )
    parser.add_argument("--opset", type=int, metavar="N", help="version of ONNX's operators")
    parser.add_argument("--tags", type=_names, default=["serve"], help="of the SavedModel's graph")
    parser.add_argument("--signature", default="serving_default", help="of the SavedModel")
    parser.add_argument("--samples", metavar="FILE", help="an .npz file with arrays for the inputs")
    parser.add_argument("--no-verify", action="store_true", help="do not compare the outputs")
    parser.add_argument("--force", action="store_true", help="replace what is there")
    parser.add_argument(
        "--trust", default="pure", choices=["pure", "all"], help="all: let the graph read files"
    )
    return parser


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _export(flags: argparse.Namespace) -> None:
    from stillflow.export.models import default_outputs, open_model

    samples = _samples(flags.samples)
    with open_model(flags.model, flags.tags, flags.signature, flags.trust) as model:
        for note in model.notes if flags.inputs is None else ():
            print(f"stillflow: {note}", file=sys.stderr)
        inputs = flags.inputs or model.inputs
        outputs = flags.outputs or model.outputs or default_outputs(model.session.graph)
        comparison = _written(flags, model.session, inputs, outputs, samples)
    print(f"{flags.output}: outputs {', '.join(outputs)}")
    if comparison is not None:
        print(comparison.message)


def _written(
    flags: argparse.Namespace, session: Any, inputs: Any, outputs: Any, samples: Any
) -> Comparison | None:
    """Write the file or folder; gives how far outputs are apart."""
    from stillflow import export
    from stillflow.export.dynamic import parse_dynamic

    verify = not flags.no_verify
    if flags.to == "torch":
        model: Any = export.to_torch(
            session, inputs, outputs, flags.output, samples, verify, flags.force, flags.layout
        )
        return model.comparison
    dynamic = parse_dynamic(flags.dynamic)
    if flags.to == "pt2":
        return export.to_pt2(
            session, inputs, outputs, flags.output, dynamic, samples, verify, flags.force,
            flags.compiled,
        )  # fmt: skip
    return export.to_onnx(
        session, inputs, outputs, flags.output, dynamic, flags.opset, samples, verify, flags.force
    )


def _samples(path: str | None) -> dict[str, Any] | None:
    if path is None:
        return None
    import numpy as np

    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
