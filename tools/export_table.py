"""The tables of exported operations in the documentation, from the lists of the tests.

python tools/export_table.py            # exit status 1 if the pages are not up to date
python tools/export_table.py --write
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "export.md"
TABLE = ROOT / "docs" / "exported_operations.md"
LISTS = ROOT / "tests" / "export"
BEGIN, END = "<!-- begin operations -->\n", "<!-- end operations -->\n"
sys.path.insert(0, str(ROOT / "src"))
# Nodes of graphs that are no steps of the exported function: branches, loops, inputs, constants.
# What queues and iterators give is an input.
_NODES = """
Const Placeholder PlaceholderV2 PlaceholderWithDefault Identity NoOp Switch RefSwitch Merge
RefMerge Enter RefEnter Exit RefExit NextIteration RefNextIteration LoopCond If StatelessIf
While StatelessWhile PartitionedCall StatefulPartitionedCall Variable VariableV2 VarHandleOp
ReadVariableOp HashTable HashTableV2 FIFOQueueV2 QueueDequeueV2 QueueDequeueManyV2
QueueDequeueUpToV2 IteratorV2 IteratorGetNext
"""
STRUCTURE = frozenset(_NODES.split())


def listed(name: str) -> dict[str, str]:
    """Return the operations of a list, each with the text next to it."""
    lines = (LISTS / name).read_text(encoding="utf-8").splitlines()
    return dict((*line.split("\t"), "")[:2] for line in lines if line)


class Operations:
    """Operations that go out, by the lists of the tests."""

    def __init__(self) -> None:
        from stillflow.export.onnx_export import model_of
        from stillflow.export.onnx_models.forms import COMPLEX, FORMS
        from stillflow.export.onnx_models.regions.builder import RULES
        from stillflow.graph.card import load_all

        assert model_of.value  # whose provider knows all forms
        cards = load_all()
        sampled = {n for n, card in cards.items() if card.samples_part and card.signature.outputs}
        self.all, self.cards = sorted(cards), cards
        self.not_torch = listed("not_exported.tsv")
        goldens = listed("exported_in_goldens.tsv")
        self.torch = (sampled - self.not_torch.keys()) | goldens.keys() | (STRUCTURE & set(cards))
        for name in ("exported_updates.txt", "exported_calls.txt", "exported_objects.txt"):
            self.torch |= listed(name).keys()
        ruled = RULES.keys() | FORMS.keys()
        without = (ruled - sampled) | COMPLEX | STRUCTURE  # in the graphs of the tests
        self.onnx = (listed("exported_to_onnx.txt").keys() | without) & set(cards)
        self.no_onnx = listed("not_in_onnx.tsv")
        self.tf2onnx = listed("tf2onnx.txt").keys() & set(cards)


def _rows(reasons: dict[str, str]) -> list[str]:
    names: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        names.setdefault(reason, []).append(f"`{name}`")
    rows = [f"| {', '.join(each)} | {reason} |" for reason, each in sorted(names.items())]
    return ["| operations | reason |", "|---|---|", *rows]


# Kinds of operations that are not exported, by words of their names; the first that fits.
_KINDS = {
    "datasets, iterators and their options": ("Dataset", "Iterator", "Optional", "Stats", "Thread"),
    "queues, staging areas and batches": ("Queue", "Stage", "Stag", "Barrier", "Batch", "Accumul"),
    "forests and boosted trees": ("Tree", "Forest", "Fertile", "Quantile", "Model", "Feature"),
    "files, readers and checkpoints": ("Reader", "File", "Save", "Restore", "Input", "Remap"),
    "summaries and prints": ("Summary", "Print", "Debug", "Event"),
    "messages of protobuf and examples": ("Proto", "Parse", "Serialize", "JSON", "CSV"),
    "tasks, TPUs and networks": (
        "TPU", "feed", "Collective", "Nccl", "Gcs", "Send", "Recv", "Remote", "Replica", "AllToAll",
    ),
}  # fmt: skip


def kinds_of_rest(ops: Operations) -> dict[str, int]:
    """Return the number of operations of each kind that do not go out as source."""
    found: dict[str, int] = {}
    for name in ops.all:
        if name in ops.torch or name.startswith("_"):
            continue
        kind = next((k for k, w in _KINDS.items() if any(each in name for each in w)), "others")
        if ops.cards[name].kernel_part is None and not kind.startswith("tasks"):
            kind = "operations that TensorFlow has no kernel for here"
        elif ops.cards[name].effect == "runs Python":
            kind = "functions of Python"
        found[kind] = found.get(kind, 0) + 1
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def summary(ops: Operations) -> str:
    """Return the part of the page on exports."""
    rest = [f"| {kind} | {count} |" for kind, count in kinds_of_rest(ops).items()]
    missing = sorted(ops.tf2onnx - ops.onnx)
    there = len(ops.tf2onnx) - len(missing)
    return "\n".join([
        f"{len(ops.torch)} operations go out as source over PyTorch, {len(ops.onnx)} as ONNX;",
        "[a table](exported_operations.md) names them. Each is compared with the session: on the",
        "samples of its card, on its inputs in a golden program, or in the graphs of the tests.",
        *(["Of the operations with samples these do not go out as source:", "",
           *_rows(ops.not_torch)] if ops.not_torch else []),
        "",
        "Operations that do not go out as source, by their kinds:",
        "",
        "| kind | operations |",
        "|---|---|",
        *rest,
        "",
        f"tf2onnx documents {len(ops.tf2onnx)} operations of TensorFlow 1.15; {there} of them go",
        f"out here, and {len(ops.onnx - ops.tf2onnx)} others. These do not:",
        "",
        *_rows({name: ops.no_onnx[name] for name in missing}),
        "",
    ])  # fmt: skip


def table(ops: Operations) -> str:
    """Return the page with all operations."""
    lines = [
        "# Exported operations",
        "",
        "Operations that [export](export.md) writes as source over PyTorch or as ONNX, and those",
        "that tf2onnx documents.",
        "Written by `tools/export_table.py` from the lists of the tests.",
        "",
        "| operation | PyTorch | ONNX | tf2onnx |",
        "|---|---|---|---|",
    ]  # fmt: skip
    columns = (ops.torch, ops.onnx, ops.tf2onnx)
    for name in ops.all:
        marks = ["yes" if name in column else "" for column in columns]
        if any(marks):
            lines.append(f"| `{name}` | {' | '.join(marks)} |")
    return "\n".join([*lines, ""])


def main() -> int:
    """Check or write the pages; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="bring the pages up to date")
    flags = parser.parse_args()
    ops = Operations()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = {PAGE: f"{before}{BEGIN}\n{summary(ops)}\n{END}{after}", TABLE: table(ops)}
    late = [p for p, text in wanted.items() if not p.exists() or p.read_text("utf-8") != text]
    for path in late:
        if flags.write:
            path.write_text(wanted[path], encoding="utf-8")
        else:
            name = path.relative_to(ROOT)
            print(f"{name} is not up to date: python tools/export_table.py --write")
    return int(bool(late) and not flags.write)


if __name__ == "__main__":
    sys.exit(main())
