"""The policy of layers that are given none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow.graph.export import export, export_value
from stillflow.layers import policy as policies
from stillflow.layers.policy import Policy, global_policy
from stillflow.runtime.session import mixed_precision_state as state

export_value("keras.mixed_precision.experimental.Policy", Policy)
export_value("keras.mixed_precision.experimental.global_policy", global_policy)

_TWO_WAYS = """\
The mixed precision policy cannot be set, because the mixed precision graph rewrite has already \
been enabled.
At most, one of the following functions can be called:

  1. tf.train.experimental.enable_mixed_precision_graph_rewrite() (You called this first)
  2. tf.keras.mixed_precision.experimental.set_policy() (You called this second)

You called both functions, which is an error, because both functions enable you to use mixed \
precision. The first function enables mixed precision in the graph with a graph rewrite. However \
it is currently not very customizable, and does not support eager. The second function is for \
Keras layers, but is not yet fully complete."""


@export("keras.mixed_precision.experimental.set_policy")
def set_policy(policy: Any) -> None:
    """Set the policy of layers that are given none.

    Args:
      policy: a `Policy`, its name, or None for the default.

    Raises:
      ValueError: for one with a dtype without `enable_v2_behavior`, or after the graph rewrite
        was enabled.
    """
    if state.mixed_precision_graph_rewrite_is_enabled:
        raise ValueError(_TWO_WAYS)
    if policy is not None and not isinstance(policy, Policy):
        policy = Policy(policy)
    if policy is not None and policy.compute_dtype and not policies.v2_dtypes():
        raise ValueError("The global policy can only be set to a non-infer policy in TensorFlow 2")
    policies.chosen[:] = [] if policy is None else [policy]
    state.using_default_mixed_precision_policy = policy is None


@contextlib.contextmanager
def policy_scope(policy: Any) -> Iterator[None]:
    """Set the default policy of layers within the context."""
    before = policies.chosen[0] if policies.chosen else None
    try:
        set_policy(policy)
        yield
    finally:
        set_policy(before)
