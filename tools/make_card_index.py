"""Generator of `ops/card_modules.txt`: for each module of cards the types of operations in it.

The registry imports a card's module by it, and all modules only for a type that is not in it.

    python tools/make_card_index.py            write the file
    python tools/make_card_index.py --check    exit with 1 if the file on disk is stale
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

from stillflow import ops
from stillflow.graph.card import load_all

FOLDER = Path(ops.__file__).parent
INDEX = FOLDER / "card_modules.txt"


def text() -> str:
    """Return the text of the file; cards of contrib are left out."""
    found: dict[str, list[str]] = defaultdict(list)
    for op_type, card in load_all().items():
        path = Path(card.place[0])
        if path.is_relative_to(FOLDER):
            parts = path.relative_to(FOLDER).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")].append(op_type)
    return "".join(f"{name} {' '.join(sorted(found[name]))}\n" for name in sorted(found))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the file, write nothing")
    if not parser.parse_args().check:
        INDEX.write_text(text(), encoding="ascii")
    elif INDEX.read_text(encoding="ascii") != text():
        print(f"{INDEX} is stale; run tools/make_card_index.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
