"""Sessions' graphs as programs of `torch.export`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from stillflow.export.dynamic import Names, to_program
from stillflow.export.package import new_file
from stillflow.export.problems import ExportError
from stillflow.export.torch_export import capture_of, load_module
from stillflow.export.torch_writer import to_source
from stillflow.export.verification import Comparison, compare, sample_inputs


def to_pt2(
    session: Any,
    inputs: Sequence[Any] | None,
    outputs: Sequence[Any],
    path: str,
    dynamic: Names | None = None,
    samples: Mapping[str, Any] | None = None,
    verify: bool = True,
    force: bool = False,
) -> Comparison | None:
    """Write the function between tensors of a graph as a program that `torch.export.load` reads.

        stillflow.export.to_pt2(session, ["images:0"], ["logits:0"], "model.pt2")
        module = torch.export.load("model.pt2").module()

    Args:
      session: the session, which holds the variables.
      inputs: tensors or their names. None: all placeholders that the outputs depend on.
      outputs: tensors or their names.
      path: of the file.
      dynamic: names of dimensions by input and place; equal names mean equal sizes.
      samples: arrays for the inputs, by name.
      verify: whether the program is run and compared with the session.
      force: whether a file that exists is replaced.

    Returns:
      How far the outputs are apart; None if they are not compared.

    Raises:
      ExportError: if an operation cannot be exported, or outputs differ.
    """
    program = capture_of(session, inputs, outputs, samples, dynamic or {})
    fed = sample_inputs(program, samples)
    exported = to_program(load_module(to_source(program)), fed, dynamic or {})
    comparison = None
    if verify:
        module = exported.module()
        comparison = compare(session, program, fed, lambda *given: module(*given))
    with new_file(path, force) as temporary:
        verdict = "not compared" if comparison is None else comparison.message
        torch.export.save(exported, temporary, extra_files={"verified.txt": verdict})
    if comparison is not None and not comparison.equal:
        raise ExportError(comparison.message)
    return comparison
