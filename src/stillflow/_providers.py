"""The one place where layers are connected: hooks of lower layers, and the modules that fill them.

`import stillflow` reads this table; a module below is imported when its hook is first used.
"""

from __future__ import annotations

from stillflow._hooks import PROVIDERS

PROVIDERS.update({
    "graph.card.load_families": "stillflow.ops",
    "graph.collection_protos.variable": "stillflow.variables.base",
    "graph.collection_protos.cond_context": "stillflow.ops.control_flow.contexts",
    "graph.collection_protos.while_context": "stillflow.ops.control_flow.while_context",
    "graph.collection_protos.queue_runner": "stillflow.train.queue_runner",
    "graph.collection_protos.saver": "stillflow.train.saver",
    "graph.conversion.standard_conversions": "stillflow.ops.conversions",
    "graph.conversion.const_card": "stillflow.ops.constants",
    "graph.eager_mode.context": "stillflow.eager.immediate",
    "graph.eager_mode.forget_context": "stillflow.eager.immediate",
    "graph.evaluate.compute": "stillflow.runtime.constants",
    "graph.functions.call_parts": "stillflow.ops.functional.cards",
    "graph.operation.equal": "stillflow.ops.math.comparison",
    "graph.operation.not_equal": "stillflow.ops.math.comparison",
    "ops.functional.tracing.variable_scope": "stillflow.variables.variable_scope",
})  # fmt: skip
