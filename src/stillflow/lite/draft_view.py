"""A draft of a model with the producers and consumers of its tensors, for rewriting it."""

from __future__ import annotations

import numpy as np

from stillflow.lite.draft import Draft, Step
from stillflow.lite.model_tensors import Array


class View:
    """Draft with the producers and consumers of each tensor."""

    def __init__(self, draft: Draft) -> None:
        self.draft, self.writers, self.uses = draft, draft.writers(), draft.uses()

    def before(self, name: str, *kinds: str) -> Step | None:
        """Return the step that writes a tensor for one reader alone, if it is of a kind."""
        step = self.writers.get(name)
        if step is None or step.kind not in kinds or self.uses[name] != 1:
            return None
        return step

    def value(self, name: str) -> Array | None:
        """Return the value of a constant, None for any other tensor."""
        return self.draft.constants.get(name)

    def replace(self, last: Step, *gone: Step) -> None:
        """Remove steps; `last` computes their result."""
        self.draft.steps = [step for step in self.draft.steps if step not in gone]

    def same_shape(self, one: str, other: str) -> bool:
        """Return True if both shapes are known, and the same."""
        draft = self.draft
        return not draft.unshaped & {one, other} and draft.shape(one) == draft.shape(other)

    def pass_on(self, step: Step, source: str) -> bool:
        """Remove a step that copies its input; return False if its name is needed."""
        result, draft = step.outputs[0], self.draft
        old, new = result, source
        if result in draft.outputs:
            writer = self.writers.get(source)
            if writer is None or source in draft.outputs:
                return False
            writer.outputs = [result if name == source else name for name in writer.outputs]
            old, new = source, result
        for reader in draft.steps:
            reader.inputs = [new if name == old else name for name in reader.inputs]
        self.replace(step, step)
        return True

    def copy(self, step: Step, source: str) -> bool:
        """Make a step one that copies its input, in the shape of its result."""
        shape = np.array(self.draft.shape(step.outputs[0]), np.int32)
        target = self.draft.constant(f"{step.outputs[0]}_shape", shape)
        step.kind, step.options_kind, step.version = "RESHAPE", "Reshape", 1
        step.inputs, step.options = [source, target], {"new_shape": shape.tolist()}
        return True

    def take_over(self, first: Step, last: Step) -> bool:
        """Make an earlier step write the result of a removed later one."""
        first.outputs = list(last.outputs)
        position = self.draft.steps.index(last)
        self.draft.steps[position] = first
        del self.draft.steps[
            next(i for i, step in enumerate(self.draft.steps) if step is first and i != position)
        ]
        return True
