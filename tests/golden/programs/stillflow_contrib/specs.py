"""Networks written as expressions."""

from __future__ import annotations

import math
import random

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

IMAGES = np.random.RandomState(1).uniform(size=[2, 8, 8, 3]).astype(np.float32)


def _made(tf, spec, inputs=IMAGES, **environment):
    tf.set_random_seed(4)
    made = tf.contrib.specs.create_net(spec, tf.constant(inputs), environment)
    return Run({"made": made}, setup=[tf.global_variables_initializer()])


@program
def convolutions(tf):
    return _made(tf, "C3 = Cr(_1=[3, 3]); M2 = Mp([2, 2]); net = (C3(_0=width) | M2)**2 | Flat | "
                     "Fm(5)", width=4)


@program
def activations(tf):
    return _made(tf, "a = Cs(2, 3) + Ct(2, 3) * Cl(2, 3); b = Cm(2, [1, 1]) | Ap([2, 2], 1, 'SAME')"
                     "\nnet = Conc(3, a, b, Idx(), Cx(1, 3)) | Dws(2) | Dwm(2)")


@program
def dense(tf):
    return _made(tf, "net = Flat | Fx(4) | Fs(4) | Ft(4) | Fr(4) | Fl(4) | Fm(4) | Unit(1) | Bn")


@program
def shapes(tf):
    return _made(tf, "net = Lrn | Transpose([0, 3, 1, 2]) | Reshape([2, 3, 64]) | Expand(1) | "
                     "Squeeze | Id**3 | Id**0 | Relu | Sig | Tanh | Smax | Do(1.0)")


@program
def shared(tf):
    tf.set_random_seed(4)
    specs = tf.contrib.specs
    specs.Shared.shared_number = 1  # it counts for the whole process
    layer = specs.Shared(specs.Fr(3))
    made = (layer | layer | specs.Var("bias", shape=[2, 3])).funcall(tf.constant(IMAGES[0, 0, :2]))
    names = [variable.name for variable in tf.global_variables()]
    return Run({"made": made}, setup=[tf.global_variables_initializer()], facts={"names": names})


@program
def summaries(tf):
    specs = tf.contrib.specs
    spec = "net = (Cr(4, [3, 3]) | Mp([2, 2])) ** 2 | Flat | Fs(10)"
    lines = []
    net = specs.create_net(spec, tf.placeholder(tf.float32, [None, 8, 8, 3]))
    specs.tf_print(net, printer=lines.append)
    specs.tf_parameter_summary(net, printer=lines.append)
    specs.tf_parameter_summary(net, printer=lines.append, combine=False)
    return Run(facts={
        "lines": lines,
        "structure": specs.tf_structure(net, include_shapes=True),
        "spec": specs.tf_spec_structure(spec, input_shape=[1, 8, 8, 3]),
        "params": specs.tf_num_params(net),
        "split": [x.name for x in specs.tf_left_split(net.op)[1]],
    })


@program
def parameters(tf):
    specs = tf.contrib.specs
    random.seed(3)
    drawn = specs.eval_params("a = Uf(); b = Ui(2, 9); c = Lf(1, 100); d = Li(5, 500); "
                              "e = Nt(1.0, 2.0, 0.1); f = floor(sqrt(n)) + pi", {"n": 17})
    environment = specs.eval_spec("left = Fr(n); right = 'import'", {"n": 3})
    return Run(facts={
        **drawn,
        "names": sorted(environment),
        "log": specs.log(3.0) == math.log(3.0),
        "positional": list(specs.get_positional([1, None], {"_1": 2, "_3": 4, "k": 5})),
        "override": list(specs.get_positional([1, 2], {"_0": 3}, kw_overrides=True)),
    })


@program
def refused(tf):
    specs = tf.contrib.specs
    theirs = "contrib.specs.python.specs_lib"
    parts = internal_module(tf, "stillflow_contrib.specs.specs_lib", theirs)
    return Run(facts={
        "keyword": raised(specs.create_net, "import re; net = Id", tf.constant(1.0)),
        "no_net": raised(specs.create_net_fun, "a = Id"),
        "name": raised(specs.eval_spec, "net = Cq(3)"),
        "callable": raised(parts.Function, 3),
        "no_f": raised(specs.Import, "g = 3"),
        "scope": raised(specs.Shared, specs.Id, scope="scope"),
        "shared_name": raised(specs.Shared, specs.Id, name="name"),
    })


@program
def borrowed(tf):
    specs = tf.contrib.specs
    cosine = specs.External("math", "cos")
    product = specs.Import("f = lambda x, y: x * y")
    return Run(facts={"cosine": cosine.funcall(2.0), "product": product(3.0).funcall(2.0)})
