"""tf.contrib.graph_editor: parts of graphs selected, copied, rewired, replaced."""

from __future__ import annotations

import re

import numpy as np
from tests.golden.registry import Run, program, raised


def names(items):
    return [item.name for item in items]


def diamond(tf):
    """Two inputs, two scopes, an edge of control."""
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.placeholder(tf.float32, [2], name="y")
    with tf.name_scope("left"):
        a = tf.add(x, y, name="a")
        b = tf.multiply(a, x, name="b")
    with tf.name_scope("right"):
        with tf.control_dependencies([a.op]):
            c = tf.subtract(x, y, name="c")
        d = tf.negative(c, name="d")
    e = tf.add(b, d, name="e")
    return x, y, a, b, c, d, e


FEED = ([1, 2], [3, 5])


def fed(x, y):
    return dict(zip((x, y), FEED))


@program
def selecting(tf):
    ge = tf.contrib.graph_editor
    x, y, a, b, c, d, e = diamond(tf)
    graph = tf.get_default_graph()
    facts = {
        "ops": names(ge.select_ops("^left", graph=graph)),
        "ts": names(ge.select_ts("(?#ts)^left/.*:0$", graph=graph)),
        "both": [names(part) for part in ge.select_ops_and_ts(
            "right", "(?#ts)e:0", "(?#ops)^x$", graph=graph)],
        "restricted": names(ge.select_ops("left", "(?#ops)right", graph=graph,
                                          restrict_ops_regex=True)),
        "filtered": names(ge.select_ops(graph, positive_filter=lambda op: op.type == "Add")),
        "compiled": names(ge.filter_ts_from_regex(graph, re.compile("c:0"))),
        "scope": names(ge.get_name_scope_ops(graph, "right/")),
        "boundary": [names(part) for part in ge.compute_boundary_ts([a.op, b.op, c.op])],
        "forward": sorted(names(ge.get_forward_walk_ops(c.op))),
        "from tensor": sorted(names(ge.get_forward_walk_ops([a], inclusive=False))),
        "backward": sorted(names(ge.get_backward_walk_ops(d.op, control_inputs=True))),
        "stopped": sorted(names(ge.get_backward_walk_ops(e.op, stop_at_ts=[b, c]))),
        "within": sorted(names(ge.get_backward_walk_ops(e.op, within_ops=[e.op, b.op]))),
        "between": sorted(names(ge.get_walks_intersection_ops([a.op], [e.op]))),
        "controlled": sorted(names(ge.get_walks_intersection_ops(
            [a.op], [e.op], control_ios=ge.ControlOutputs(graph)))),
        "union": sorted(names(ge.get_walks_union_ops([d.op], [a.op]))),
        "inside": names(ge.get_within_boundary_ops(graph, a.op, [x.op, y.op, e.op])),
        "neighbours": sorted(names(ge.get_ops_ios([b.op]))),
        "generating": names(ge.get_generating_ops([a, b])),
        "consuming": names(ge.get_consuming_ops([x])),
        "placeholder": [ge.placeholder_name(a), ge.placeholder_name(a, scope="s"),
                        ge.placeholder_name(scope="s"), ge.placeholder_name()],
        "waiting": {op.name: names(after) for op, after
                    in ge.ControlOutputs(graph).get_all().items()},
        "no graph": raised(ge.select_ops, "left"),
        "wrong word": raised(ge.select_ts, x, where=3),
        "no regex": raised(ge.make_regex, 3),
        "seeds": raised(ge.get_within_boundary_ops, graph, a.op, [a.op]),
        "no graph allowed": raised(ge.make_list_of_t, graph, allow_graph=False),
    }
    return Run({"e": e}, fed(x, y), facts=facts)


@program
def views(tf):
    ge = tf.contrib.graph_editor
    x, y, a, b, _c, d, e = diamond(tf)
    graph = tf.get_default_graph()
    view = ge.sgv([a.op, b.op])
    mixed = ge.SubGraphView([a.op], [d])
    repeated = view.remap([1], [0, 0])
    facts = {
        "ops": names(view.ops), "inputs": names(view.inputs), "outputs": names(view.outputs),
        "scope": names(ge.sgv_scope("right", graph).ops),
        "through": [names(mixed.inputs), names(mixed.outputs), names(mixed.passthroughs)],
        "connected": [names(mixed.connected_inputs), names(mixed.connected_outputs)],
        "repeated": [names(repeated.inputs), names(repeated.outputs)],
        "unique": names(repeated.remap_outputs_make_unique().outputs),
        "for consumers": names(ge.sgv(x.op).remap_outputs_to_consumers().outputs),
        "default": names(repeated.remap_default().inputs),
        "consumers": names(view.consumers()),
        "found": view.find_op_by_name("left/b").type,
        "places": [view.input_index(y), view.output_index(b)],
        "used": names(ge.sgv(graph).remap_inputs([]).remap_outputs([]).remove_unused_ops().ops),
        "text": str(mixed).splitlines()[1:], "empty": str(ge.sgv()),
        "twice": raised(view.remap_inputs, [0, 0]), "outside": raised(view.remap_outputs, [7]),
        "missing": raised(view.find_op_by_name, "q"),
        "other graph": raised(ge.make_view, view, graph=tf.Graph()),
    }
    return Run({"e": e}, fed(x, y), facts=facts)


@program
def copying(tf):
    ge = tf.contrib.graph_editor
    x, y, a, b, c, d, e = diamond(tf)
    tf.add_to_collection("left/mine", b)
    tf.add_to_collection("losses", b)
    copied, info = ge.copy(ge.sgv_scope("left", tf.get_default_graph()), dst_scope="again",
                           src_scope="left")
    one = tf.constant([1., 1.])
    replaced, more = ge.copy_with_input_replacements([c.op, d.op], {y: one}, dst_scope="other")
    facts = {
        "copied": names(copied.ops), "inputs": names(copied.inputs),
        "outputs": names(copied.outputs), "b": info.transformed(b).name,
        "nested": [None if item is None else item.name for item in info.transformed([a, e])],
        "back": info.original(info.transformed(a)).name, "replaced": names(replaced.outputs),
        "losses": names(tf.get_collection("losses")),
        "renamed": names(tf.get_collection("again/mine")),
        "text": str(more).splitlines()[2:],
        "wrong scope": raised(ge.copy, [c.op], dst_scope="q", src_scope="left"),
        "no graph": raised(ge.copy, [c.op], dst_graph=3),
    }
    return Run({"b": info.transformed(b), "d": more.transformed(d)},
               {x: [1, 2], y: [3, 5], "again/geph__x_0:0": [2, 2], "again/geph__y_0:0": [1, 1],
                "again/geph__x_0_1:0": [6, 7]},
               facts=facts)


@program
def replacing(tf):
    ge = tf.contrib.graph_editor
    x, y, a, b, _c, d, e = diamond(tf)
    ten = tf.fill([2], 10., name="ten")
    new_e = ge.graph_replace(e, {a: ten})
    nested = ge.graph_replace({"e": e, "b": [b]}, {y: ten}, dst_scope="scoped")
    facts = {"e": new_e.name, "scoped": nested["e"].name,
             "apart": raised(ge.graph_replace, a, {d: ten})}
    return Run({"e": e, "new": new_e, "scoped": nested["e"], "b": nested["b"][0]}, fed(x, y),
               facts=facts)


@program
def replacing_in_loops(tf):
    ge = tf.contrib.graph_editor
    start = tf.placeholder(tf.float32, [], name="start")
    limit = tf.constant(100., name="limit")
    end = tf.while_loop(lambda v: v < limit, lambda v: v * 2, [start + 1])
    other = ge.graph_replace(end, {limit: tf.constant(10., name="lower")}, dst_scope="copy")
    return Run({"other": other}, {start: 2}, facts={"end": end.name, "other": other.name})


@program
def rewiring(tf):
    ge = tf.contrib.graph_editor
    x, y, a, b, c, d, e = diamond(tf)
    left = tf.identity(a, name="p")
    right = tf.identity(c, name="q")
    facts = {
        "swapped": ge.swap_ts([a], [c], can_modify=[left.op, right.op]),
        "rerouted": ge.reroute_ts([x], [y], cannot_modify=[a.op]),
        "sizes": raised(ge.swap_ts, [a], [b, c]),
        "types": raised(ge.reroute_ts, [a], [tf.constant([1, 2])]),
        "shapes": raised(ge.reroute_ts, [a], [tf.constant([1., 2., 3.])]),
        "removed": raised(ge.remove_control_inputs, d.op, a.op),
        "added": raised(ge.add_control_inputs, c.op, [a.op]),
    }
    ge.remove_control_inputs(c.op, a.op)
    ge.add_control_inputs(d.op, [b.op])
    facts["control"] = [names(c.op.control_inputs), names(d.op.control_inputs)]
    return Run({"e": e, "p": left, "q": right}, fed(x, y), facts=facts)


@program
def trading_views(tf):
    ge = tf.contrib.graph_editor
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.placeholder(tf.float32, [2], name="y")
    doubled = tf.multiply(x, 2., name="doubled")
    squared = tf.multiply(y, 3., name="squared")
    first = tf.identity(doubled, name="first")
    second = tf.identity(squared, name="second")
    left, right = ge.sgv(doubled.op).remap_inputs([0]), ge.sgv(squared.op).remap_inputs([0])
    ge.swap_inputs(left, right)
    facts = {"inputs": [names(left.inputs), names(right.inputs)]}
    ge.swap_outputs(left, right)
    facts["first"] = names(first.op.inputs)
    ge.reroute_ios(left, right)
    facts["rerouted"] = [names(second.op.inputs), names(squared.op.inputs)]
    return Run({"first": first, "second": second}, fed(x, y), facts=facts)


@program
def editing(tf):
    ge = tf.contrib.graph_editor
    x, y, _a, b, c, d, e = diamond(tf)
    graph = tf.get_default_graph()
    view, made = ge.detach_inputs([b.op])
    facts = {"made": names(made), "inputs": names(view.inputs)}
    feed = fed(x, y)
    feed.update({placeholder: [7, 7] for placeholder in made})
    _, inputs, outputs = ge.detach([c.op], control_ios=ge.ControlOutputs(graph))
    facts.update({"cut in": names(inputs), "cut out": names(outputs),
                  "control": names(c.op.control_inputs)})
    feed.update({placeholder: [1, 1] for placeholder in outputs})
    one = tf.ones([2], name="one")
    two = tf.identity(tf.placeholder_with_default(np.float32([4, 4]), [2], name="four"), name="two")
    ge.connect(ge.sgv(one.op), ge.sgv(two.op))
    facts["connected"] = names(two.op.inputs)
    ge.bypass([d.op])
    facts["bypassed"] = names(e.op.inputs)
    facts["no control outputs"] = raised(ge.detach_control_outputs, [d.op], 3)
    return Run({"e": e, "two": two}, feed, facts=facts)
