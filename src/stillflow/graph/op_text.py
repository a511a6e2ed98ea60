"""Texts of ops in TF's messages: signature, attributes, description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stillflow.graph import dims as dims_lib
from stillflow.graph.dtypes import as_dtype, cpp_name
from stillflow.graph.signature import Arg, Attr, Signature

_MOST_LISTED = 15  # of longer lists both ends are shown
_ENDS = 5
_FLAGS = {
    "commutative": "is_commutative", "aggregate": "is_aggregate", "stateful": "is_stateful",
    "uninitialized": "allows_uninitialized_input",
}  # fmt: skip


def op_text(signature: Signature) -> str:
    """Return the op, as in `Op<name=Rank; signature=input:T -> output:int32; attr=T:type>`."""
    inputs, outputs = (
        ", ".join(map(_argument, args)) for args in (signature.inputs, signature.outputs)
    )
    parts = [f"name={signature.name}", f"signature={inputs} -> {outputs}"]
    parts += [f"attr={_attribute(attr)}" for attr in signature.attrs.values()]
    parts += [f"{text}=true" for flag, text in _FLAGS.items() if flag in signature.flags]
    return f"Op<{'; '.join(parts)}>"


def attributes_text(signature: Signature, attrs: Mapping[str, Any]) -> str:
    """Return the attributes of an operation, as in `[N=2, T=DT_FLOAT]`."""
    known = (attr for attr in signature.attrs.values() if attr.name in attrs)
    return f"[{', '.join(f'{attr.name}={_value(attrs[attr.name], attr.kind)}' for attr in known)}]"


def _argument(arg: Arg) -> str:
    kind = "" if arg.dtype is None else cpp_name(arg.dtype)
    kind = arg.type_attr or kind
    if arg.number_attr is not None:
        kind = f"{arg.number_attr}*{kind}"
    return f"{arg.name}:{f'Ref({kind})' if arg.is_ref else kind}"


def _attribute(attr: Attr) -> str:
    text = f"{attr.name}:{attr.kind}"
    if attr.has_default:
        text += f",default={_value(attr.default, attr.kind)}"
    if attr.minimum is not None:
        text += f",min={attr.minimum}"
    if attr.allowed is not None:
        text += f",allowed={_value(attr.allowed, f'list({attr.element})')}"
    return text


def _value(value: Any, kind: str) -> str:
    if kind.startswith("list("):
        return f"[{', '.join(_shortened([_value(item, kind[5:-1]) for item in value]))}]"
    if kind == "string":
        text: str = value.decode() if isinstance(value, bytes) else value
        return f'"{text.encode("unicode_escape").decode()}"'
    if kind == "bool":
        return str(bool(value)).lower()
    if kind == "float":
        return f"{value:g}"
    if kind == "type":
        return f"DT_{cpp_name(as_dtype(value)).upper()}"
    if kind == "shape":
        return dims_lib.to_string(value._dims) if value._dims is not None else "<unknown>"
    return str(value)


def _shortened(items: Sequence[str]) -> Sequence[str]:
    if len(items) < _MOST_LISTED:
        return items
    return [*items[:_ENDS], "...", *items[-_ENDS:]]
