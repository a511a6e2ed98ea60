"""Cases of `calls.py`: public functions, with arguments that their names ask for."""

from __future__ import annotations

import inspect
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import stillflow as tf
from stillflow._namespace import public_names

from .arguments import ANYTHING, Made
from .outcomes import named
from .valid_arguments import BY_NAME, SHAPED, SHAPES, special

#: Namespaces whose functions build graphs out of their arguments, by the one they are in.
WITHIN = {
    "": "bitwise debugging distributions dtypes feature_column image initializers linalg losses "
    "manip math metrics nn quantization ragged random sets signal sparse spectral strings "
    "summary train",
    "contrib": "bayesflow constrained_optimization crf distributions feature_column framework gan "
    "graph_editor image integrate kernel_methods labeled_tensor layers legacy_seq2seq linalg "
    "losses metrics nn opt periodic_resample resampler rnn seq2seq signal solvers sparsemax "
    "stateless text training",
    "keras": "activations backend constraints initializers layers losses metrics regularizers "
    "utils",
}
SPACES = {""} | {
    f"{outer}.{name}".lstrip(".") for outer, names in WITHIN.items() for name in names.split()
}

#: Functions that read or write files, start threads or servers, wait, print, change the process,
#: or take functions, which no name tells how to call; and one that is internal in TensorFlow.
SKIPPED = re.compile(
    r"write|save|load|export|import_|restore|checkpoint|Checkpoint|delete|remove|download|file|"
    r"py_func|print|Print|exit|abort|Assert|Server|Session|session|latest|tensorboard|set_|enable|"
    r"disable|reset|summary_iterator|evaluate_|train_loop|generate_|input_producer|batch_join|"
    r"shuffle_batch|maybe_|queue|Queue|threads|sdca|wait_for|normal_|list_variables|while_loop|"
    r"repeat|multi_gpu|plot_model|basic_train|create_train|tf_decorator|init_from|assign_from|"
    r"warm_start|global_step|audio_|custom_gradient|grad_pass_through|^_|^(group|tuple|no_op|"
    r"cond|case|device|init_scope|is_keras_tensor)$"
)

STRANGE = 0.07  # how often an argument is something that its name does not ask for
OPTIONAL = 0.35  # how often an optional argument is given
NAMED = 0.2  # how often a name is given
ALIKE = 0.5  # how often all tensors of a call have one shape


def cases(seed: int, names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield cases without end: round after round, every function once, in random order."""
    rng = random.Random(seed)
    chosen = sorted(name for name in names or public_names() if _fits(name))
    while chosen:
        rng.shuffle(chosen)
        for name in list(chosen):
            parameters = _parameters(name)
            if parameters is None:
                chosen.remove(name)
                continue
            shape = rng.choice(SHAPES) if rng.random() < ALIKE else None
            arguments = {}
            for parameter in parameters:
                if parameter.default is parameter.empty or _given(rng, parameter.name):
                    arguments[parameter.name] = _argument(rng, name, parameter.name, shape)
            yield {"name": name, "arguments": arguments, "changes": len(arguments)}


def _fits(name: str) -> bool:
    space, _, last = name.rpartition(".")
    return space in SPACES and not SKIPPED.search(last)


def _parameters(name: str) -> list[inspect.Parameter] | None:
    """Return the named parameters of a function; None for classes and other objects."""
    function = named(tf, name)
    if inspect.isclass(function) or not callable(function):
        return None
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    return [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def _given(rng: random.Random, name: str) -> bool:
    if name == "name":
        return rng.random() < NAMED
    return name in BY_NAME and name != "scope" and rng.random() < OPTIONAL


def _argument(rng: random.Random, function: str, name: str, shape: list[int] | None) -> Any:
    """Return a value for an argument.

    Of the shape that all tensors of the call have, if they have one.
    """
    values = special(function, name)
    if values and rng.random() >= STRANGE:
        return rng.choice(values)
    values = BY_NAME.get(name, [])
    value = rng.choice(values if values and rng.random() >= STRANGE else ANYTHING)
    if shape is not None and isinstance(value, Made) and value.maker in SHAPED:
        return Made(value.maker, shape)
    return value
