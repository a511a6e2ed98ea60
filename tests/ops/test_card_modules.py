"""The index of cards: one import gives an operation's whole card, but for its gradient."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_index_is_current() -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_card_index.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr


_PARTS = """
import json, sys
from stillflow.graph import card

parts, attach = [], card.Card._attach

def noting(self, slot, part):
    parts.append((self, slot, card._place_in_module()[0]))
    return attach(self, slot, part)

card.Card._attach = noting
card.load_all()
print(json.dumps([[each.name, slot] for each, slot, path in parts if path != each.place[0]]))
"""


def test_only_gradients_are_added_by_other_modules() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _PARTS], capture_output=True, text=True, check=True, timeout=300
    )
    added = json.loads(found.stdout)
    assert ["Enter", "gradient_part"] in added
    assert {slot for _, slot in added} == {"gradient_part"}


_IMPORT = """
import sys
import stillflow as tf

made = tf.GraphDef()
made.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
made.node.add(name="y", op="Relu6", input=["x"]).attr["T"].type = 1
tf.import_graph_def(made, name="")
print([name in sys.modules for name in ("stillflow.ops.nn.activations", "stillflow.ops.data.files",
                                        "torch")])
"""


def test_a_graph_imports_the_modules_of_its_operations_alone() -> None:
    found = subprocess.run(
        [sys.executable, "-c", _IMPORT], capture_output=True, text=True, check=True, timeout=300
    )
    assert found.stdout.strip() == "[True, False, False]"


def test_other_operations_are_looked_for_in_all_modules() -> None:
    code = "from stillflow.graph.card import find; print(find('TreeSize'), find('NoSuchThing'))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert found.stdout.strip() == "<card TreeSize> None"
