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
    compiled: bool = False,
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
      compiled: whether the file holds code of AOTInductor for this machine, which needs a compiler
        of C++, instead of the program; `torch._inductor.aoti_load_package` reads it.

    Returns:
      How far the outputs are apart; None if they are not compared.

    Raises:
      ExportError: if an operation cannot be exported, or outputs differ.
    """
    program = capture_of(session, inputs, outputs, samples, dynamic or {})
    if program.changes or program.targets:
        raise ExportError("a program of torch.export cannot change variables, or objects")
    fed = sample_inputs(program, samples)
    exported = to_program(load_module(to_source(program)), fed, dynamic or {})
    comparison = None
    with new_file(path, force) as temporary:
        module: Any = _compiled(exported, temporary) if compiled else exported.module()
        if verify:
            comparison = compare(session, program, fed, module)
        verdict = "not compared" if comparison is None else comparison.message
        if not compiled:
            torch.export.save(exported, temporary, extra_files={"verified.txt": verdict})
    if comparison is not None and not comparison.equal:
        raise ExportError(comparison.message)
    return comparison


def _compiled(exported: torch.export.ExportedProgram, path: str) -> Any:
    """Compile a program into a file; return what the file holds as a function."""
    inductor = torch._inductor
    try:
        return inductor.aoti_load_package(
            inductor.aoti_compile_and_package(exported, package_path=path)
        )
    except Exception as error:  # of the compiler, mostly
        first = str(error).strip().partition("\n")[0]
        raise ExportError(f"AOTInductor cannot compile the program: {first}") from error
