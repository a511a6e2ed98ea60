"""Statements with arrays of one element, uneven lists and the like; prints a program of them.

Run by the Python and the NumPy of TensorFlow 1.15.5, the program prints old_arrays.json.
"""

from __future__ import annotations

import sys

SETUP = """
import array, cmath, datetime, logging, math, random, struct, sys, time
import numpy as np
from math import sqrt as root
logging.basicConfig(stream=sys.stdout, format="%(message)s")
n, f, z, c = np.array([3]), np.array([2.5]), np.array([[1]]), np.array([1j])
text = "%.3f"
uneven = [[1, 2], [3]]
small = np.ones(3, np.uint8)
class Box: pass
box = Box()
types = "float16 float32 float64 int8 int64 uint8 bool complex64 S3 U2 object".split()
"""

STATEMENTS = """
int(n), int(f), int(z), int(np.array(["3"])), int(np.array([True])), int(np.array(3))
float(n), float(z), float(np.array(["2.5"])), complex(n), complex(c), complex(n, n)
list(map(int, [n, f, "7"])), list(map(float, [n, f]))
int(n * 2 + 1), int(n[0:1]), int(x=5) if False else int(), float()
"%d %s %f" % (n, n, f), "%i" % f, "%.2f" % n, "%5.3f" % z, "%e" % f, "%g" % f, b"%d" % n
"%(a)d %(b)s %%" % {"a": n, "b": n}, "%%" + "%d" % n, text % f, ("%d" + "x") % n, "%*d" % (4, n)
math.sqrt(n), math.floor(f), math.pow(f, 2), math.hypot(f, 1), math.isnan(f), root(n), cmath.sqrt(c)
math.fsum([n]), math.factorial(n), math.log(f, 2) == math.log(2.5, 2)
random.randint(n, n), random.randrange(n, 4), time.sleep(n * 0), chr(n * 22)
struct.pack("<f", f), array.array("f", [f]).tolist(), datetime.datetime.fromtimestamp(n).second
logging.error("logged %d %.1f", n, f)
np.arange(n), np.arange(0, f), np.arange(n, 5), np.random.multinomial(n, [1.0, 0.0])
x = np.zeros(3); x[0] = f; x[1] += f; x[2] = z; x
x = np.zeros(3); x[np.int64(1)] = f; x
x = np.zeros((3, 2)); x[0, 1] = f; x[1] = f; x[2:, int(n) - 3] = f; x
x = np.zeros(3); x[:] = [f, 2.0, 3.0]; x
x = np.zeros(3); x[1:] = [f, f]; x
x = np.zeros(3); x.flat[1] = f; x
x = np.zeros(3); x.itemset(0, f); x
x = np.zeros(3, int); x[0] = f; x
x = np.zeros(3, object); x[0] = f; x
x = np.zeros((), float); x[()] = f; x
box.x = np.zeros(3); box.x[0] = f * 2; box.x
x = np.zeros(2, [("a", "f"), ("b", "i")]); x[0] = (f, n); x["a"][1] = f; x
np.array([1.0, f], np.float32), np.array([[f, 1.0], [1.0, 2.0]], "f"), np.float32([1.0, f])
np.array([1, f]), np.array([f, f]), np.array([(f, 1)], [("a", "f"), ("b", "f")])
np.array([f, np.array([[1.0]])], np.float32)
np.uint8(300), np.uint8(-1), np.int8(200), np.uint8([300, 1]), np.uint32(-1), np.uint64(-1)
np.int32(2**40), np.uint8(5), np.float32(7), np.int64(-3)
np.array([300, -1], np.uint8), np.array([[300], [1]], dtype="uint8"), np.asarray([300], np.uint8)
np.full(2, 300, np.uint8), np.full(2, -1, np.uint32), np.full_like(small, 257)
x = np.zeros(3, np.uint8); x[0] = 300; x[1:] = [-1, 256]; x
x = np.zeros(3, np.uint8); x.fill(300); x
x = np.zeros(3, np.uint8); x += 300; x[x < 300] = 257; x
x = np.zeros(3, np.uint8); x[0] += 300; x
x = np.zeros(3, np.uint8); x[1] -= 1; x
[np.issubdtype(a, b) for a in types for b in (float, int, complex, bool, object, "float", None)]
[np.issubdtype(a, b) for a in types for b in ("f8", "i4", "complex64", "u1", "?", "S", "U", str)]
[np.issubdtype(a, b) for a in types for b in (np.floating, np.float64, np.dtype("f8"), np.integer)]
[np.issubdtype(x.dtype, float) for x in (small, f, np.ones(2, np.float32))]
small * 300, small[0] - 2, small[0] * 300, np.maximum(small, 300), np.add(small, 300)
np.multiply(np.float64(2), np.ones(2, np.float32)), np.subtract(small[0], 2)
np.array([1, 2]) == (), () == np.array([1, 2]), np.array([1, 2]) != (), np.array([1, 2]) == [1]
np.array([1, 2]) == np.array([1, 2, 3]), np.array([1, 2]) != np.array([1, 2, 3])
np.array([[1, 2]]) == [[1], [2, 3]], np.array([1, 2]) == [[1], [1, 2, 3]], np.array([1, 2]) == "a"
np.array([1, 2]) == None, np.float32(1) == (), np.array([1, 2]) == np.array([1, 3])
np.array([1, 2, 3]) in [np.array([1, 2])], np.array([3]) in [np.array([1, 2]), np.array([3])]
np.array([1, 2, 3]) not in [np.array([1, 2])], [1, 2, 3] in np.array([[1, 2]])
[np.array([1, 2])] == [np.array([1, 2, 3])], (1, np.array([1])) != (1, np.array([1, 2, 3]))
not np.array([]), bool(np.array([])), 1 if np.array([]) else 2, not (np.array([]) or np.array([]))
not (np.array([]) == ()), bool(np.array([5])), not np.array([0])
np.asanyarray(uneven), np.concatenate([uneven, uneven]), np.append(uneven, [5]), np.size(a=uneven)
np.where([True, False], uneven, uneven), np.atleast_1d(uneven), np.ascontiguousarray(uneven)
np.array([[[1, 2], [3]], [[4]]]), np.array([[[1, 2], [3]], [[4], [5, 6]]]), np.array([[], [1], n])
np.array([np.zeros((2, 0)), np.zeros(0), [[], [[]]]]), np.array([np.zeros((2, 0)), np.zeros(0)])
np.concatenate([[1, [2, 3]], [4]]), np.hstack([[[1, 2], [3]], [[4], [5, 6]]])
np.stack([uneven, uneven]), np.vstack([uneven, uneven]), np.hstack([uneven, uneven])
np.savez("x.npz", uneven), np.load("x.npz", allow_pickle=True)["arr_0"]
np.savez_compressed("x.npz", a=uneven), np.load("x.npz", allow_pickle=True)["a"]
len(np.random.permutation(uneven)), np.count_nonzero(uneven), np.roll(uneven, 1), np.pad(uneven, 1)
np.full(2, uneven, object), np.diag(uneven)
np.nonzero(np.float32(3)), np.where(np.float32(3) > 2), np.argwhere(uneven)
range(n)
round(f)
[1, 2, 3, 4][n]
int(np.ones(2))
float(np.array([None]))
"%x" % n
"%d" % np.ones(2)
"%d" % (n, n)
x = np.zeros(3); x[0] = np.ones(2)
x = np.zeros(3); x[0] = [2.5]
np.array([1.0, np.ones(2)], np.float32)
np.array([2**70], np.int64)
np.array([1, 2]) < np.array([1, 2, 3])
bool(np.array([1, 2]))
np.zeros(3) + np.ones(2)
"""


def program():
    """Return a program that prints what each statement gives, as JSON in its last line."""
    lines = ["import json, warnings", "warnings.simplefilter('ignore')", SETUP, "found = {}"]
    for statement in STATEMENTS.strip().split("\n"):
        *before, value = statement.split("; ")
        if " = " in value and "==" not in value:
            before, value = [*before, value], "None"
        lines += ["try:", *(f"    {part}" for part in before), f"    result = {value}"]
        lines += ["except Exception as error:", "    result = type(error).__name__"]
        lines += [f"found[{statement!r}] = repr(result)"]
    return "\n".join([*lines, "print(json.dumps(found, indent=0))", ""])


if __name__ == "__main__":
    sys.stdout.write(program())
