"""Calls of protobuf in programs; run under TensorFlow 1.15.5 it prints old_protobuf.txt."""

import numpy as np
import tensorflow as tf
from google.protobuf import (
    descriptor_pool,
    json_format,
    message_factory,
    reflection,
    symbol_database,
    text_format,
)

message = tf.NodeDef(name="\u00e9", op="x")
third = tf.AttrValue(f=1 / 3)
numbers = tf.AttrValue(list=tf.AttrValue.ListValue(f=[1 / 3, 2], i=[1]))
double = tf.Summary.Value(histo=tf.HistogramProto(sum=1 / 3), simple_value=1 / 3)
node = tf.NodeDef.DESCRIPTOR

# Text.
print(str(message), text_format.MessageToString(message))
print(text_format.MessageToString(tf.AttrValue(s="\u00e9".encode()), as_utf8=True))
print(text_format.MessageToString(numbers, float_format=".2f"), text_format.MessageToString(third))
print(text_format.MessageToString(double, double_format=".2f", float_format=".3e"))
print(text_format.MessageToString(double, as_one_line=True, double_format=".2f"))

# JSON.
print(json_format.MessageToJson(message), json_format.MessageToJson(message, True))
print(json_format.MessageToJson(message, including_default_value_fields=True))
print(json_format.MessageToDict(tf.NodeDef(name="x"), True))
print(json_format.MessageToDict(tf.NodeDef(name="x"), including_default_value_fields=True))
print(json_format.MessageToDict(third, float_precision=3))

# Descriptors and classes.
print(
    [node.fields_by_name[name].label for name in ("name", "input")], node.file.syntax, node.syntax
)
print(reflection.MakeClass(node)(name="a").name, reflection.ParseMessage(node, b"\x0a\x01b").name)
print(message_factory.MessageFactory().GetPrototype(node)(name="c").name)
database = symbol_database.Default()
print(database.GetPrototype(node)(name="d").name, database.CreatePrototype(node)(name="e").name)
print(database.GetSymbol("tensorflow.NodeDef").DESCRIPTOR.full_name)
print(database.GetSymbol("tensorflow.AttrValue.ListValue")(i=[1]).i)
print(sorted(database.GetMessages(["tensorflow/core/framework/node_def.proto"])))
pool = descriptor_pool.Default()
print(pool.FindMessageTypeByName("tensorflow.NodeDef").full_name)
print(pool.FindFileByName("tensorflow/core/framework/node_def.proto").package)
for find, name in (
    (database.GetSymbol, "tensorflow.Nothing"),
    (database.GetSymbol, "nothing.X"),
    (pool.FindMessageTypeByName, "tensorflow.NodeDef.Nothing"),
    (node.file.pool.FindMessageTypeByName, "tensorflow.NodeDef.Nothing"),
    (pool.FindFileByName, "tensorflow/nothing.proto"),
):
    try:
        find(name)
    except KeyError:
        print("KeyError")

# Truth values among numbers.
value = tf.train.Feature().int64_list.value
value.append(True)
value.append(np.int64(5))
value.extend([True, 2])
value.extend(np.array([3, 4]))
value.extend(item > 1 for item in (1, 2))
print(list(value))
for wrong in (1.5, "a", None, [1.5], ["a"]):
    try:
        (value.extend if isinstance(wrong, list) else value.append)(wrong)
    except TypeError:
        print("TypeError")
