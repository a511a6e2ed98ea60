"""Text of the first difference of two GraphDefs."""

from __future__ import annotations

from tests.golden.registry import Run, internal_module, program, raised

VALUES = {
    "none": "",
    "text": r"s: 'ab\001\"'",
    "text of 79": f"s: '{'x' * 79}'",
    "text of 90": f"s: '{'0123456789' * 9}'",
    "integer": "i: -3",
    "numbers": "list { f: 0.1 f: 1e10 f: 3 f: inf f: nan f: 1234567 f: 3.14159274 f: -0.0 }",
    "truth": "b: true",
    "type": "type: DT_INT32_REF",
    "types": "list { type: DT_INT8 type: DT_FLOAT }",
    "shape": "shape { dim { size: 2 } dim { size: -1 } }",
    "shapes": "list { shape { } shape { dim { size: 1 } } }",
    "unknown shape": "shape { unknown_rank: true }",
    "empty list": "list { }",
    "texts": "list { s: 'a' s: 'b' }",
    "truths": "list { b: true b: false }",
    "list of 14": f"list {{ {' '.join(f'i: {i}' for i in range(14))} }}",
    "list of 15": f"list {{ {' '.join(f'i: {i}' for i in range(15))} }}",
    "function": "func { name: 'f' attr { key: 'T' value { type: DT_INT32 } }"
    " attr { key: 'A' value { i: 2 } } }",
    "functions": "list { func { name: 'g' } }",
    "placeholder": "placeholder: 'q'",
    "tensor": "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 5 } } float_val: 1.5 }",
    "matrix": "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } dim { size: 2 } }"
    " int_val: 1 int_val: 2 }",
    "string": "tensor { dtype: DT_STRING tensor_shape { } string_val: 'hi' }",
    "no tensor": "tensor { dtype: DT_INVALID }",
    "tensors": "list { tensor { dtype: DT_BOOL tensor_shape { } bool_val: true } }",
}
FUNCTION = "func { name: 'f' attr { key: 'A' value { i: %d } } }"
NAN = "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: nan }"
HALF = "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 }"
PAIRS = {
    **{f"value: {name}": (value, "i: 99") for name, value in VALUES.items()},
    "encodings": (HALF, HALF.replace("1 }", "1 float_val: 1 }")),
    "values": (HALF, HALF.replace("1 }", "2 }")),
    "not numbers": (NAN, NAN),
    "attributes of functions": (FUNCTION % 1, FUNCTION % 2),
    "functions": (FUNCTION % 1, FUNCTION % 1),
}
NODES = {
    "device": ("device: '/cpu:0'", ""),
    "no device": ("", "device: '/cpu:0'"),
    "first outputs": ("input: 'a' input: 'b:0'", "input: 'a:0' input: 'b'"),
    "second output": ("input: 'a:1'", "input: 'a'"),
    "number of inputs": ("input: 'a'", "input: 'a' input: '^b'"),
    "order of control inputs": ("input: '^a' input: '^b'", "input: '^b' input: '^a'"),
    "missing control input": ("input: 'c' input: '^a'", "input: 'c' input: '^b'"),
    "other control input": ("input: '^a' input: '^c'", "input: '^a' input: '^a'"),
    "internal attribute": ("attr { key: '_class' value { i: 1 } }", ""),
    "attribute": ("attr { key: 'k' value { i: 1 } }", ""),
    "missing attribute": ("", "attr { key: 'k' value { i: 1 } }"),
}
WHOLE = (
    "node { name: 'n' op: 'X' device: '/cpu:0' input: 'a' input: '^b'"
    " attr { key: 'k' value { i: 1 } } attr { key: '_x' value { i: 1 } } }"
)
HIDDEN = "attr { key: '_a' value { i: 0 } }"
SHARED = "attr { key: 'shared_name' value { s: 'hash_table_%s' } }"


def _graph_def(tf, text):
    from google.protobuf import text_format

    return text_format.Parse(text, tf.GraphDef())


def _node(text, op="X"):
    return f"node {{ name: 'n' op: '{op}' {text} }}"


@program
def as_told(tf):
    compiled = internal_module(tf, "facade.pywrap", "python.pywrap_tensorflow")
    tell = compiled.EqualGraphDefWrapper
    attribute = "attr {{ key: 'k' value {{ {} }} }}"
    pairs = dict(NODES)
    pairs.update({n: tuple(attribute.format(v) for v in pair) for n, pair in PAIRS.items()})
    texts = {name: tuple(_node(text) for text in pair) for name, pair in pairs.items()}
    texts.update(
        {
            "operation": (_node("", "X"), _node("", "Y")),
            "unexpected": (WHOLE, ""),
            "not found": ("", WHOLE),
            "versions": ("versions { producer: 1 }", "versions { producer: 2 }"),
        }
    )
    facts = {}
    for name, pair in texts.items():
        facts[name] = tell(*[_graph_def(tf, text).SerializeToString() for text in pair])
    for name, value in {"text": "a", "nothing": None, "number": 3}.items():
        facts[f"of {name}"] = raised(tell, value, b"")
    return Run(facts=facts)


@program
def asserted(tf):
    check = tf.test.assert_equal_graph_def
    table = [_graph_def(tf, _node(SHARED % name, "HashTableV2")) for name in "ab"]
    same = [_graph_def(tf, _node(HIDDEN.replace("0", i))) for i in "12"]
    test_util = internal_module(tf, "testing.test_util", "python.framework.test_util")
    random = test_util.assert_equal_graph_def_v1
    return Run(
        facts={
            "different": raised(check, *table),
            "the same": check(*same),
            "random names": raised(random, *table, hash_table_shared_name=True),
        }
    )
