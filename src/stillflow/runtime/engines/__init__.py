"""Engines: other runtimes that may run pure regions of a plan.

    config = engines.use("auto", tf.ConfigProto())
    with tf.Session(config=config) as session: ...

A region is a row of steps without state and effect. An `Engine` makes a function of it, or says why
it does not; the steps that no engine takes stay with the plan's own kernels. The first run compares
an engine's answers with the plan's.
"""

from stillflow.runtime.engines.setting import use as use
