"""tf.nest: structures flattened, packed and mapped."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


@program
def nest(tf):
    structure = {"b": [1, (2, 3)], "a": 4}
    nest = tf.nest
    facts = {
        "flatten": nest.flatten(structure),
        "packed": str(sorted(nest.pack_sequence_as(structure, [10, 20, 30, 40]).items())),
        "mapped": str(nest.map_structure(lambda x, y: x + y, [1, (2,)], [3, (4,)])),
        "nested": [nest.is_nested([1]), nest.is_nested(1), nest.is_nested("ab")],
        "differs": raised(nest.assert_same_structure, [1, 2], [1]),
        "too_few": raised(nest.pack_sequence_as, [1, 2], [1]),
    }
    return Run(facts=facts)
