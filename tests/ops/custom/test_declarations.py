"""The texts of REGISTER_OP become signatures."""

from __future__ import annotations

import pytest

from stillflow import errors
from stillflow.graph.op_text import op_text
from stillflow.ops.custom.declarations import Declaration, signature_of
from stillflow.ops.custom.messages import Reader, Writer

QUANTIZED = "DT_QINT8, DT_QUINT8, DT_QINT32, DT_QINT16, DT_QUINT16"


def declared(inputs=(), outputs=(), attributes=()) -> Declaration:
    return Declaration("Some", "", [*inputs], [*outputs], [*attributes], frozenset(), False)


@pytest.mark.parametrize(
    "text, written",
    [
        ("T: {float, int32} = DT_FLOAT", "T:type,default=DT_FLOAT,allowed=[DT_FLOAT, DT_INT32]"),
        ("T : { int32 , DT_STRING }", "T:type,allowed=[DT_INT32, DT_STRING]"),
        ("Ts: list({int32, float}) >= 1", "Ts:list(type),min=1,allowed=[DT_INT32, DT_FLOAT]"),
        ("n: int >= -1 = 5", "n:int,default=5,min=-1"),
        ("mode: {'a', \"b\"} = 'a'", 'mode:string,default="a",allowed=["a", "b"]'),
        ("xs: list(int) >= 2 = [1, 2]", "xs:list(int),default=[1, 2],min=2"),
        ("xs: list(string) = ['a,b', 'c']", 'xs:list(string),default=["a,b", "c"]'),
        ("f: float = 1e-3", "f:float,default=0.001"),
        ("b: bool = False", "b:bool,default=false"),
        ("s: shape = { dim { size: 2 } dim { size: -1 } }", "s:shape,default=[2,?]"),
        ("s: shape = {unknown_rank: true}", "s:shape,default=<unknown>"),
        ("s: list(shape) = [{ }, { dim { size: 1 } }]", "s:list(shape),default=[[], [1]]"),
        ("q: {half, quantizedtype}", f"q:type,allowed=[DT_HALF, {QUANTIZED}]"),
        ("f: func", "f:func"),
    ],
)  # fmt: skip
def test_an_attribute_is_read(text: str, written: str) -> None:
    signature = signature_of(declared(attributes=[text]))
    assert op_text(signature) == f"Op<name=Some; signature= -> ; attr={written}>"


def test_arguments_name_types_attributes_lists_and_references() -> None:
    signature = signature_of(
        declared(
            ["x: float", "y: T", "same: N * T", "mixed: Ts", "v: Ref(T)"],
            ["all: N*int32"],
            ["T: type", "N: int", "Ts: list(type)"],
        )
    )
    x, y, same, mixed, v = signature.inputs
    assert x.dtype.name == "float32" and not x.is_list
    assert (y.type_attr, same.number_attr, same.type_attr) == ("T", "N", "T")
    assert mixed.type_list_attr == "Ts" and v.is_ref and v.type_attr == "T"
    assert signature.outputs[0].number_attr == "N"


@pytest.mark.parametrize(
    "bad",
    [
        {"attributes": ["no kind"]},
        {"attributes": ["x: {}"]},
        {"attributes": ["x: int = a"]},
        {"attributes": ["x: list(int) = 3"]},
        {"inputs": ["X: float"]},
        {"inputs": ["x: Unknown"]},
        {"outputs": ["y: N * float"]},
    ],
)
def test_texts_of_another_form_are_named_in_the_error(bad: dict) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"\(\".*\"\) for Op Some"):
        signature_of(declared(**bad))


def test_messages_are_read_as_they_were_written() -> None:
    writer = Writer()
    writer.number(-3)
    writer.text("déjà")
    writer.shape((2, None))
    writer.shape(None)
    reader = Reader(writer.finish())
    assert [reader.number(), reader.text(), reader.shape(), reader.shape()] == [
        -3, "déjà", (2, None), None,
    ]  # fmt: skip
