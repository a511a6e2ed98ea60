"""Forms of operations in whole models, from the table `forms.txt`.

A line holds types of operations, and an expression of Python: `x`, `y`, `z`, `w` and `u` are the
names of the inputs' values, other capitalized names make nodes of ONNX's operators, `a` holds the
attributes. Numbers are constants of the first input's type, lists of numbers vectors of int64. A
list gives several outputs; None stands for one that has no value.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from stillflow.export.onnx_models.regions.builder import Builder, Rule
from stillflow.export.onnx_models.regions.maths import ONNX_TYPES
from stillflow.graph.constant_value import Dims
from stillflow.graph.operation import Operation
from stillflow.ops.quantization.fake import grid
from stillflow.runtime.engines.region import Unfit
from stillflow.runtime.ir.containers import container_of

DOMAINS = {"LabelEncoder": "ai.onnx.ml", "Inverse": "com.microsoft"}
FORMS: dict[str, Rule] = {}
COMPLEX: set[str] = set()  # operations whose forms take or give pairs for complex numbers
_INPUTS = "xyzwu"
_END = 1 << 62
_ENCODED = {"string": "strings", "int64": "int64s", "float32": "floats"}


class Scope(dict[str, Any]):
    """Names of an expression, for one operation."""

    def __init__(self, b: Builder, op: Operation) -> None:
        self.b, self.op = b, op
        self.a = SimpleNamespace(**op.attrs)
        outputs = [tensor.dtype.base_dtype.name for tensor in op._outputs]
        super().__init__(a=self.a, op=op, np=np, out=outputs[0] if outputs else "")
        self.update(count=len(outputs), T=op._inputs[0].dtype.base_dtype.name if op._inputs else "")

    def __missing__(self, name: str) -> Any:
        if name in _INPUTS:
            return self.b(self.op._inputs[_INPUTS.index(name)])
        if not name[0].isupper():
            try:
                return getattr(self, f"_{name}")
            except AttributeError:
                raise KeyError(name) from None  # one of Python's own
        return lambda *taken, outputs=1, **attrs: self.b.add(
            name, list(map(self._constant, taken)), outputs, **attrs
        )

    def _constant(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return self.b.constant(value, np.int64)
        if isinstance(value, (np.ndarray, np.generic)):
            return self.b.constant(value)
        return self.b.constant(value, self.op._inputs[0].dtype.base_dtype.as_numpy_dtype)

    # ---- numbers and types

    def _ins(self) -> list[str]:
        return [self.b(tensor) for tensor in self.op._inputs]

    def _dtype(self, place: int) -> str:
        return self.op._outputs[place].dtype.base_dtype.name

    def _dtype_of(self, attr: str) -> int:
        return ONNX_TYPES[self.op.attrs[attr].base_dtype.name]

    def _to(self, value: Any, name: str) -> str:
        self._only(name in ONNX_TYPES, f"of type {name}")
        name = "float32" if name == "bfloat16" else name  # the result is rounded
        return str(self.b.add("Cast", [self._constant(value)], to=ONNX_TYPES[name]))

    def _i64(self, value: Any) -> str:
        return self._to(value, "int64")

    def _vec(self, value: str) -> str:
        return str(self.b.add("Reshape", [self._i64(value), self._constant([-1])]))

    def _cat(self, *parts: Any) -> str:
        return str(self.b.add("Concat", list(map(self._constant, parts)), axis=0))

    def _known(self, place: int) -> np.ndarray:
        return self.b.known(self.op._inputs[place])

    def _ints(self, place: int) -> list[int]:
        return self.b.ints(self.op._inputs[place])

    def _rank(self, place: int = 0) -> int:
        return self.b.rank(self.op._inputs[place])

    def _only(self, condition: Any, reason: str) -> None:
        if not condition:
            raise Unfit(reason)

    def _lowest(self, sign: int = 1) -> Any:
        kind = np.dtype(self.op._inputs[0].dtype.base_dtype.as_numpy_dtype)
        limits: Any = np.finfo(kind) if kind.kind == "f" else np.iinfo(kind)
        return limits.min if sign == 1 else limits.max

    # ---- operations of several nodes

    def _shapes(self) -> list[str]:
        return [self._to(self["Shape"](name), self._dtype(0)) for name in self._ins()]

    def _strided(self) -> str:
        """Cut a part out whose ends only the run knows; ellipses and new axes are not written."""
        self._only(not self.a.ellipsis_mask and not self.a.new_axis_mask, "ellipsis or new axis")
        steps = self._ints(3)
        begin, end = (self._i64(self[name]) for name in "yz")

        def marked(mask: int) -> np.ndarray:
            return np.array([bool(mask >> place & 1) for place in range(len(steps))])

        where, add = self["Where"], self["Add"]
        after = where(self["Equal"](begin, [-1]), [_END], add(begin, [1]))
        first = [0 if step > 0 else _END for step in steps]
        last = [_END if step > 0 else -_END for step in steps]
        shrunk = marked(self.a.shrink_axis_mask)
        end = where(shrunk, after, where(marked(self.a.end_mask), last, end))
        begin = where(marked(self.a.begin_mask & ~self.a.shrink_axis_mask), first, begin)
        made = self["Slice"](self["x"], begin, end, list(range(len(steps))), steps)
        axes = np.flatnonzero(shrunk).tolist()
        return str(self["Squeeze"](made, axes) if axes else made)

    def _resized(self, mode: str) -> str:
        image = self.b.add("Cast", [self.b.channels_second(self.op._inputs[0])], to=1)
        kept = self.b.add("Shape", [image], start=0, end=2)
        places = "half_pixel" if getattr(self.a, "half_pixel_centers", False) else "asymmetric"
        places = "align_corners" if self.a.align_corners else places
        rounding = "floor" if places == "asymmetric" else "round_prefer_ceil"
        made = self["Resize"](
            image, "", "", self._cat(kept, self._i64(self["y"])), mode=mode,
            coordinate_transformation_mode=places, nearest_mode=rounding,
        )  # fmt: skip
        return self._to(self["Transpose"](made, perm=[0, 2, 3, 1]), self._dtype(0))

    def _normalized(self) -> list[Any]:
        """Normalize by the mean and variance of the batch."""
        self._only(self.a.data_format == b"NHWC", "channels second")
        x, mean = self["x"], self["ReduceMean"](self["x"], [0, 1, 2])
        apart = self["Sub"](x, mean)
        variance = self["ReduceMean"](self["Mul"](apart, apart), [0, 1, 2])
        scale = self["Sqrt"](self["Add"](variance, self.a.epsilon))
        made = self["Add"](self["Mul"](self["Div"](apart, scale), self["y"]), self["z"])
        return [made, self["Squeeze"](mean, [0, 1, 2])]

    def _partitions(self) -> list[str]:
        self._only(self.b.rank(self.op._inputs[1]) == 1, "of several dimensions")
        chosen = [
            self["Equal"](self["y"], np.int32(place)) for place in range(len(self.op._outputs))
        ]
        return [self["Compress"](self["x"], each, axis=0) for each in chosen]

    def _segments(
        self, data: str, numbers: str, reduction: str, start: Any, count: str | None = None,
        rank: int = 1,
    ) -> str:  # fmt: skip
        """Reduce rows by their segments; those of negative numbers go into one that is cut off."""
        ids = self._i64(numbers)
        last = self["Add"](self["ReduceMax"](ids, keepdims=0), self._to(1, "int64"))
        total = self._vec(last if count is None else count)
        ids = self["Where"](self["Less"](ids, [0]), total, ids)
        sizes = self._cat(self["Add"](total, [1]), self["Shape"](data, start=rank))
        rows = self["Expand"](self._constant(start), sizes)
        made = self["ScatterND"](rows, self["Unsqueeze"](ids, [-1]), data, reduction=reduction)
        return str(self["Slice"](made, [0], total, [0]))

    def _stitched(self) -> str:
        """Put rows at their places, later ones over earlier ones."""
        half = len(self.op._inputs) // 2
        names = self._ins()
        places = [self._vec(name) for name in names[:half]]
        tails = [
            self["Shape"](name, start=self._rank(place)) for place, name in enumerate(names[half:])
        ]
        count = self["Add"](self["ReduceMax"](self["Concat"](*places, axis=0)), [1])
        sizes = self._cat(count, tails[0])
        made = self["Expand"](self._to(0, self._dtype(0)), sizes)
        for place, rows, tail in zip(places, names[half:], tails, strict=True):
            rows = self["Reshape"](rows, self._cat([-1], tail))
            made = self["ScatterND"](made, self["Unsqueeze"](place, [-1]), rows)
        return str(made)

    def _nms(self, *thresholds: str) -> str:
        limits = [self["Reshape"](each, [1]) for each in thresholds]
        boxes, scores = self["Unsqueeze"](self["x"], [0]), self["Unsqueeze"](self["y"], [0, 1])
        found = self["NonMaxSuppression"](boxes, scores, self._vec(self["z"]), *limits)
        return self._to(self["Squeeze"](self["Slice"](found, [2], [3], [1]), [1]), "int32")

    def _joined(self) -> str:
        made, *rest = self._ins()
        for each in rest:
            if self.a.separator:
                made = self["StringConcat"](made, np.array(self.a.separator, object))
            made = self["StringConcat"](made, each)
        return made

    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the keys and values of the table behind the first input."""
        keys, values = self.b.facts.handles[self.op._inputs[0]].all_entries()
        return keys, values

    def _encoded(self) -> str:
        """Look keys up: integers are of 64 bits."""
        names = [tensor.dtype.name.replace("int32", "int64") for tensor in self.op._inputs[1:3]]
        attrs = {
            f"{part}_{_ENCODED[name]}": array.tolist()
            for part, name, array in zip(("keys", "values"), names, self._table(), strict=True)
        }
        attrs[f"default_{_ENCODED[names[1]][:-1]}"] = self._known(2).item()
        keys = self["y"] if names[0] == "string" else self._to(self["y"], names[0])
        made: str = self["LabelEncoder"](keys, **attrs)
        return made if names[1] == "string" else self._to(made, self._dtype(0))

    def _quantized(self, low: Any, high: Any) -> str:
        """Quantize and dequantize; a range that is cut short leaves fewer than 256 numbers."""
        self._only(self.a.num_bits <= 8, "more than 8 bits")
        levels = int(self.a.narrow_range), (1 << self.a.num_bits) - 1
        points = grid(np.float32(low), np.float32(high), levels)
        scale, zero = np.float32(points.step), np.asarray(points.zero, np.uint8)
        low, high = np.float32(points.low), np.float32(points.high)
        inside = self["Min"](self["Max"](self["x"], low), high)
        made = self["QuantizeLinear"](inside, scale, zero, axis=-1)
        return str(self["DequantizeLinear"](made, scale, zero, axis=-1))

    def _grows(self) -> bool:
        array = container_of(self.op._inputs[0])
        return array is None or bool(array[0].attrs.get("dynamic_size"))

    def _blanks(self, count: str, kind: int, dims: Dims = None) -> str:
        """Return a sequence of tensors, for elements of these sizes that are still to come."""
        array = container_of(self.op._outputs[0])
        dims = self.b.facts.containers.elements(array) if array is not None else dims
        nothing = self["Sub"](count, count)
        sizes = self._cat(count, *(nothing if size is None else [size] for size in dims or ()))
        typed = self.b.add("Cast", [self["Expand"](self._constant([0]), sizes)], to=kind)
        return str(self["SplitToSequence"](typed, axis=0, keepdims=0))

    def _element(self) -> Dims:
        """Return the sizes of a list's elements, which the first input says."""
        sizes = self._known(0)
        return tuple(None if size < 0 else int(size) for size in sizes) if sizes.ndim else None


def _form(code: Any) -> Rule:
    def made(b: Builder, op: Operation) -> Any:
        answer = eval(code, {}, Scope(b, op))
        return answer[0] if isinstance(answer, tuple) else answer

    return made


def _read() -> None:
    path = Path(__file__).with_name("forms.txt")
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        types, colon, text = line.partition(": ")
        if colon and not line.startswith("#"):
            code = compile(text.strip(), f"{path.name}:{number}", "eval")
            FORMS.update(dict.fromkeys(types.split(), _form(code)))


_read()
