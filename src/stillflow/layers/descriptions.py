"""Docstrings of the functions of `tf.layers`, from descriptions of their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import dedent

ARGUMENTS = {
    "inputs": (
        '[batch, sizes ..., channels], or [batch, channels, sizes ...] under "channels_first".'
    ),
    "units": "the number of outputs.",
    "filters": "the number of output channels.",
    "kernel_size": "one number, or one per dimension.",
    "pool_size": "of the windows; one number, or one per dimension.",
    "strides": "one number, or one per dimension.",
    "padding": '"valid" or "same".',
    "data_format": '"channels_last" or "channels_first".',
    "dilation_rate": "one number, or one per dimension; 1 where the strides are above 1.",
    "depth_multiplier": "the number of channels that the depthwise step makes of each.",
    "activation": "a function, or None.",
    "use_bias": "whether there is a bias.",
    "initializer": "give the first values; those of the variable scope for None.",
    "regularizer": "give losses, which are added to the collection REGULARIZATION_LOSSES.",
    "constraint": "functions with which optimizers project the variables.",
    "trainable": "whether the variables are trained.",
    "name": "of the variable scope; made unique if it is not given.",
    "reuse": "whether to use the variables of a layer of that name.",
}


def docstring(
    summary: str, names: Sequence[str], told: Mapping[str, str], example: str = ""
) -> str:
    """Return a docstring in which neighbours of one description share a line.

    `told` describes arguments, named in `names`, that no other function has. `example` has
    lines of a session of Python.
    """
    if "reuse" not in names:
        told = {"name": "of the layer.", **told}
    lines: list[tuple[list[str], str]] = []
    for name in names:
        text = told.get(name) or ARGUMENTS.get(name) or ARGUMENTS[name.rpartition("_")[2]]
        if lines and lines[-1][1] == text:
            lines[-1][0].append(name)
        else:
            lines.append(([name], text))
    described = "\n".join(f"      {', '.join(shared)}: {text}" for shared, text in lines)
    shown = "".join(f"\n      {line}" for line in dedent(example).strip().splitlines())
    example = f"\n    Example:{shown}\n" if shown else ""
    return f"{summary}\n\n    Args:\n{described}\n\n    Returns:\n      A tensor.\n{example}    "
