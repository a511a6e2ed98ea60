"""Functions that programs import from ``tensorflow.python.ops.control_flow_util``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from stillflow.graph.operation import Operation
from stillflow.ops.control_flow import toggles
from stillflow.ops.control_flow.contexts import in_context, output_context
from stillflow.ops.control_flow.frames import (
    in_xla,
    is_cond_switch,
    is_containing,
    is_loop_constant_enter,
    is_loop_enter,
    is_loop_exit,
    is_loop_switch,
    is_switch,
    loop_constant_enter,
    while_context,
)
from stillflow.ops.control_flow.valid_inputs import check_inputs
from stillflow.ops.functional.nodes import in_xla_graph

IsSwitch = is_switch
IsLoopEnter = is_loop_enter
IsLoopExit = is_loop_exit
IsCondSwitch = is_cond_switch
IsLoopSwitch = is_loop_switch
IsLoopConstantEnter = is_loop_constant_enter
GetLoopConstantEnter = loop_constant_enter
GetOutputContext = output_context
GetWhileContext = while_context
IsContainingContext = is_containing
IsInXLAContext = in_xla
OpInContext = in_context
EnableControlFlowV2 = toggles.calls_functions
enable_control_flow_v2 = toggles.enable_control_flow_v2
GraphOrParentsInXlaContext = in_xla_graph


def IsMerge(op: Operation) -> bool:
    return op.type in ("Merge", "RefMerge")


def IsCondMerge(op: Operation) -> bool:
    """Return True if `op` is a Merge whose inputs all come from branches of a cond."""
    if not IsMerge(op) or not op.inputs:
        return False
    contexts = [output_context(tensor.op) for tensor in op.inputs]
    return all(context is not None and context.IsCondContext() for context in contexts)


def IsLoopMerge(op: Operation) -> bool:
    """Return True if `op` is the Merge of a loop variable."""
    if not IsMerge(op):
        return False
    context = op._get_control_flow_context()
    return context is not None and context.IsWhileContext() and not IsCondMerge(op)


def IsInWhileLoop(op: Operation) -> bool:
    return GetContainingWhileContext(op._get_control_flow_context()) is not None


def IsInCond(op: Operation) -> bool:
    return GetContainingCondContext(op._get_control_flow_context()) is not None


def TensorInContext(tensor: Any, ctxt: Any) -> bool:
    return in_context(tensor.op, ctxt)


def GetContainingWhileContext(ctxt: Any, stop_ctxt: Any = None) -> Any:
    """Return the innermost loop that `ctxt` is or is in, or `stop_ctxt` if that comes first.

    Or None.
    """
    while ctxt is not None and not ctxt.IsWhileContext() and ctxt is not stop_ctxt:
        ctxt = ctxt.outer_context
    return ctxt


def GetContainingCondContext(ctxt: Any) -> Any:
    """Return the innermost branch that `ctxt` is or is in, or None."""
    while ctxt is not None and not ctxt.IsCondContext():
        ctxt = ctxt.outer_context
    return ctxt


def GetContainingXLAContext(ctxt: Any) -> Any:
    """Return the innermost compiled context that `ctxt` is or is in, or None."""
    while ctxt is not None and not ctxt.IsXLAContext():
        ctxt = ctxt.outer_context
    return ctxt


def InXlaContext(graph: Any) -> bool:
    return GetContainingXLAContext(graph._get_control_flow_context()) is not None


def CheckInputFromValidContext(op: Operation, input_op: Operation) -> None:
    """Raise ValueError for an input of `op` from a loop it is not in."""
    if any(tensor.op is input_op for tensor in op.inputs):
        check_inputs(op)


class _Module(ModuleType):
    """Class of this module, with a variable that programs set."""

    @property
    def ENABLE_CONTROL_FLOW_V2(self) -> bool:
        return toggles.enabled

    @ENABLE_CONTROL_FLOW_V2.setter
    def ENABLE_CONTROL_FLOW_V2(self, enabled: bool) -> None:
        toggles.enabled = enabled


sys.modules[__name__].__class__ = _Module
