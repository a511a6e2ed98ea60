"""Write ``src/stillflow/ops/strings/unicode_scripts.txt`` under a real TensorFlow 1.15.

    python tools/record_unicode_scripts.py

The table says for every code point which script it belongs to, by the numbers that the operation
UnicodeScript gives. It derives from the Unicode Character Database, Copyright Unicode, Inc., whose
licence (https://www.unicode.org/license.txt) lets such data be used and passed on freely.
"""

import os
import textwrap

import numpy as np
import tensorflow as tf

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.path.join(ROOT, "src", "stillflow", "ops", "strings", "unicode_scripts.txt")
CODE_POINTS = 0x110000
HEAD = """\
# The script of every code point, from 0 on, as runs: how many code points, then their script.
# Written by tools/record_unicode_scripts.py. Derived from the Unicode Character Database,
# Copyright Unicode, Inc.; see https://www.unicode.org/license.txt.
"""


def runs(scripts):
    """Return the runs of equal numbers as text: "65:0 26:25 ..."."""
    starts = [0, *(np.flatnonzero(np.diff(scripts)) + 1), len(scripts)]
    lengths = np.diff(starts)
    return " ".join(f"{n}:{scripts[s]}" for n, s in zip(lengths, starts))


def main():
    scripts = tf.strings.unicode_script(np.arange(CODE_POINTS, dtype=np.int32))
    with tf.Session() as session:
        text = runs(session.run(scripts))
    with open(TARGET, "w") as file:
        file.write(HEAD + textwrap.fill(text, 100) + "\n")


if __name__ == "__main__":
    main()
