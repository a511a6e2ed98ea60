"""The kernel of a node: by device, label and types, as the library registered them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.graph.dtypes import as_dtype
from stillflow.graph.op_text import attributes_text
from stillflow.ops.custom.interface import KernelDeclaration


def kernel_for(node: Any, device: str, kernels: Sequence[KernelDeclaration]) -> int:
    """Return the number, in its library, of a node's kernel for "CPU" or "GPU"."""
    fitting = _fitting(node, device, kernels)
    if not fitting:
        raise errors.invalid_argument(_none(node, device, kernels))
    best = max(kernels[at].priority for at in fitting)
    fitting = [at for at in fitting if kernels[at].priority == best]
    if len(fitting) > 1:
        raise errors.invalid_argument(
            f"Multiple OpKernel registrations match NodeDef '{{{{node {node.name}}}}}': "
            + " and ".join(f"'{kernels[at].class_name}'" for at in fitting[:2])
        )
    return fitting[0]


def device_for(node: Any, kernels: Sequence[KernelDeclaration]) -> str:
    """Return the device whose kernel a node runs: on a GPU the host's if that has no other."""
    if not str(node.device).startswith("cuda"):
        return "CPU"
    only_host = not _fitting(node, "GPU", kernels) and _fitting(node, "CPU", kernels)
    return "CPU" if only_host else "GPU"


def _fitting(node: Any, device: str, kernels: Sequence[KernelDeclaration]) -> list[int]:
    label = node.op.attrs.get("_kernel", b"").decode()
    return [
        at
        for at, kernel in enumerate(kernels)
        if kernel.op == node.op.type
        and kernel.device == device
        and kernel.label == label
        and _allows(kernel, node.op.attrs)
    ]


def _allows(kernel: KernelDeclaration, attrs: dict[str, Any]) -> bool:
    for name, allowed in kernel.constraints:
        value = attrs.get(name)
        types = value if isinstance(value, (list, tuple)) else [value]
        if not all(t is not None and as_dtype(t).as_datatype_enum in allowed for t in types):
            return False
    return True


def _none(node: Any, device: str, kernels: Sequence[KernelDeclaration]) -> str:
    listed = [kernel for kernel in kernels if kernel.op == node.op.type]
    lines = "".join(f"  {_line(kernel)}\n" for kernel in listed) or "  <no registered kernels>\n"
    attrs = attributes_text(node.op.card.signature, node.op.attrs)
    return (
        f"No OpKernel was registered to support Op '{node.op.type}' used by "
        f"{{{{node {node.name}}}}}with these attrs: {attrs}\n"
        f"Registered devices: [{device}]\nRegistered kernels:\n{lines}"
    )


def _line(kernel: KernelDeclaration) -> str:
    text = f"device='{kernel.device}'"
    if kernel.label:
        text += f"; label='{kernel.label}'"
    for name, allowed in kernel.constraints:
        types = ", ".join(f"DT_{_cpp_name(number)}" for number in allowed)
        text += f"; {name} in [{types}]"
    return text


def _cpp_name(number: int) -> str:
    from stillflow.graph.dtypes import cpp_name

    return cpp_name(number).upper()
