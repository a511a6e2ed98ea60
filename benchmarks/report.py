"""Table of ratios from raw measurements."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any, NamedTuple

STEP_PROGRAMS = {
    "softmax_regression": ("softmax regression", 0.35),
    "mlp_adam": ("MLP + Adam", 0.6),
    "mnist_cnn": ("MNIST CNN", 0.38),
    "resnet20": ("ResNet-20", 0.25),
    "transformer": ("transformer", 0.7),
}
# More steps with a peer; only the step counts.
NETWORK_PROGRAMS: dict[str, tuple[str, float | None]] = {
    "dynamic_rnn": ("LSTM by dynamic_rnn", 0.55),
    "seq2seq_attention": ("translation with attention", 0.6),
    "wide_and_deep": ("wide and deep, 40 feature columns", 1.0),
    "text_cnn": ("convolutions of text", 1.0),
    "word2vec": ("word2vec", 1.0),
    "resnet50": ("ResNet-50, batch 8", None),
    "bert_small": ("BERT-small", None),
}

# Loops of the graph; peers without graphs would write others.
LOOP_PROGRAMS: dict[str, tuple[str, float | None]] = {
    "while_counter": ("while_loop, 10,000 turns", 0.5),
    "map_rows": ("map_fn, 1,000 rows", 0.5),
    "beam_search": ("beam search", 0.7),
    "ragged_lengths": ("LSTM, another length every time", None),
    "long_loop": ("gradient of 1,000 turns", None),
}

# Input pipelines, timed by the batch.
INPUT_PROGRAMS = {
    "input_queues": ("TFRecords through queues", 0.83),
    "input_dataset": ("TFRecords through tf.data", 0.67),
    "input_photographs": ("photographs through tf.data", 0.83),
    "parse_examples": ("Examples of 128 features parsed", 1.0),
    "padded_batches": ("padded batches", 0.83),
}

# Functions without a graph; the peers read and write no such files.
FILE_PROGRAMS = {
    "tfrecord_write": ("20,000 TFRecords written", 0.5),
    "tfrecord_read": ("20,000 TFRecords read", 0.5),
    "checkpoint_save": ("64 variables of 4 MB saved", 0.5),
    "checkpoint_restore": ("64 variables of 4 MB restored", 0.5),
    "checkpoint_save_small": ("1,000 variables of 64 bytes saved", 1.0),
    "checkpoint_restore_small": ("1,000 variables of 64 bytes restored", 1.0),
}

# Programs that do the same as another and something in addition: which, what, and the allowed
# cost as a multiple of the other's step.
COSTS = {
    "mlp_adam_summaries": ("mlp_adam", "step with summaries, MLP + Adam", 1.3),
    "mlp_adam_trace": ("mlp_adam", "step with FULL_TRACE, MLP + Adam", 2.0),
}


# Peers that have training steps only.
WITHOUT = ("torch", "compile", "jax")


class Row(NamedTuple):
    """One line of the table: which number of which program, the ratio aimed at, who has none.

    A number that is a ratio of an implementation to itself is not compared with the reference's.
    """

    title: str
    program: str | None
    key: str
    goal: float | None = None
    leaves_out: tuple[str, ...] = ()
    to_itself: bool = False


class Ratio(NamedTuple):
    """Median over rounds, and the lowest and highest round."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


def rows() -> list[Row]:
    """Everything that is measured, in the order of the table."""
    result = [
        Row("import", None, "import", 0.25),
        Row("graph construction, ResNet-20", "resnet20", "build", 0.5, WITHOUT),
        Row("Session.run, scalar add", "scalar_add", "step", 0.25),
    ]
    steps = STEP_PROGRAMS.items()
    trained = {**STEP_PROGRAMS, **NETWORK_PROGRAMS}.items()
    result += [Row(f"step, {title}", program, "step", goal) for program, (title, goal) in trained]
    result += [
        Row(f"step, {title}", program, "step", goal, WITHOUT)
        for program, (title, goal) in LOOP_PROGRAMS.items()
    ]
    result += [
        Row(title, program, "step", goal, WITHOUT)
        for program, (title, goal) in {**INPUT_PROGRAMS, **FILE_PROGRAMS}.items()
    ]
    result += [
        Row(f"initialisation, {title}", program, "initialise", None, WITHOUT)
        for program, (title, _) in steps
    ]
    result += [
        Row(f"first step, {title}", program, "first_step", 1.0) for program, (title, _) in steps
    ]
    result += [
        Row(f"import to first step, {title}", program, "start") for program, (title, _) in steps
    ]
    return [
        *result,
        Row(
            "slowest of 200 lengths, to itself",
            "ragged_lengths",
            "slowdown",
            1.5,
            WITHOUT,
            to_itself=True,
        ),
        Row("peak memory, ResNet-20", "resnet20", "peak_memory", 1.0),
        Row(
            "memory of steps, gradient of 1,000 turns",
            "long_loop",
            "steps_memory",
            1.0,
            WITHOUT,
        ),
    ]


def number_of(records: list[dict[str, Any]], row: Row, name: str, turn: int) -> float | None:
    """One implementation's number in one round; the import is measured by every program."""
    if name in row.leaves_out:
        return None
    found = [
        record[row.key]
        for record in records
        if record["implementation"] == name
        and record["round"] == turn
        and row.program in (None, record["program"])
        and row.key in record
    ]
    return statistics.median(found) if found else None


def ratio(records: list[dict[str, Any]], row: Row, name: str, reference: str) -> Ratio | None:
    """Return an implementation against the reference, round by round."""
    ratios = []
    for turn in sorted({record["round"] for record in records}):
        mine = number_of(records, row, name, turn)
        theirs = 1.0 if row.to_itself else number_of(records, row, reference, turn)
        if mine is not None and theirs:
            ratios.append(mine / theirs)
    return Ratio(statistics.median(ratios), min(ratios), max(ratios)) if ratios else None


def table(records: list[dict[str, Any]], names: list[str], reference: str) -> Iterator[str]:
    """Lines of the table: ratios to the reference, smaller is better."""
    others = [name for name in names if name != reference]
    heads = "".join(f"  {name:<17}" for name in others)
    yield f"{'ratio to ' + reference:<40} {'goal':>5}{heads}".rstrip()
    for row in rows():
        cells = [ratio(records, row, name, reference) for name in others]
        if any(cells):
            goal = "" if row.goal is None else str(row.goal)
            texts = "".join(f"  {'-' if cell is None else str(cell):<17}" for cell in cells)
            yield f"{row.title:<40} {goal:>5}{texts}".rstrip()


def cost(records: list[dict[str, Any]], program: str, name: str) -> Ratio | None:
    """Return the cost of a `COSTS` program relative to the program without, round by round."""
    plain = COSTS[program][0]
    ratios = []
    for turn in sorted({record["round"] for record in records}):
        with_it = number_of(records, Row("", program, "step"), name, turn)
        without = number_of(records, Row("", plain, "step"), name, turn)
        if with_it is not None and without:
            ratios.append(with_it / without)
    return Ratio(statistics.median(ratios), min(ratios), max(ratios)) if ratios else None


def cost_table(records: list[dict[str, Any]], names: list[str]) -> Iterator[str]:
    """Yield lines with the costs of summaries and traces, as multiples of the plain step."""
    cells = {
        program: {name: found for name in names if (found := cost(records, program, name))}
        for program in COSTS
    }
    if any(cells.values()):
        yield (
            f"{'multiple of the step without':<40} {'goal':>5}"
            + "".join(f"  {name:<17}" for name in names).rstrip()
        )
    for program, found in cells.items():
        _, title, goal = COSTS[program]
        if found:
            texts = "".join(f"  {found.get(name, '-')!s:<17}" for name in names)
            yield f"{title:<40} {goal:>5}{texts}".rstrip()


def missed_goals(records: list[dict[str, Any]], name: str, reference: str) -> Iterator[str]:
    """Goals that an implementation does not reach."""
    for row in rows():
        found = ratio(records, row, name, reference)
        if row.goal is not None and found is not None and found.median > row.goal:
            yield f"{row.title}: {found}, goal {row.goal}"
    for program, (_, title, goal) in COSTS.items():
        found = cost(records, program, name)
        if found is not None and found.median > goal:
            yield f"{title}: {found}, goal {goal}"


def different_losses(
    records: list[dict[str, Any]], name: str, reference: str, tolerance: float = 1e-3
) -> Iterator[str]:
    """Programs whose first losses are not the reference's: they would not do the same work."""
    losses = {
        (record["program"], record["implementation"]): record["losses"]
        for record in records
        if "losses" in record
    }
    for (program, implementation), mine in sorted(losses.items()):
        theirs = losses.get((program, reference))
        if implementation != name or theirs is None:
            continue
        if any(not abs(a - b) <= tolerance * max(1.0, abs(b)) for a, b in zip(mine, theirs)):
            yield f"{program}: losses of {name} {mine}, of {reference} {theirs}"
