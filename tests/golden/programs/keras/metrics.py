"""tf.keras.metrics of whole tensors."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


@program
def means_of_tensors(tf):
    metric = tf.keras.metrics.MeanTensor(name="mean")
    early = [raised(metric.result), metric.total, metric.count]
    x = tf.placeholder(tf.float32, [2, 2])
    update = metric.update_state(x, sample_weight=[[1.0, 0.5], [0.0, 2.0]])
    return Run({"result": metric.result(), "total": metric.total, "count": metric.count},
               [{x: [[1.0, 2.0], [3.0, 4.0]]}, {x: [[5.0, -2.0], [1.0, 0.0]]}], steps=2,
               train=update, setup=[tf.variables_initializer(metric.variables)],
               facts={"early": early, "shape": raised(metric.update_state, tf.zeros([3])),
                      "config": metric.get_config()})


@program
def overlap_of_classes(tf):
    metric = tf.keras.metrics.MeanIoU(num_classes=3)
    truth, guess = tf.constant([[0, 1], [2, 2]]), tf.constant([[0, 1], [1, 2]])
    update = metric.update_state(truth, guess, tf.constant([[1.0, 2.0], [1.0, 0.5]]))
    return Run({"result": metric.result()}, train=update, steps=2,
               setup=[tf.variables_initializer(metric.variables)],
               facts={"config": metric.get_config()})


@program
def relative_errors(tf):
    metric = tf.keras.metrics.MeanRelativeError(normalizer=[1.0, 3.0, 0.0, 2.0])
    update = metric.update_state([1.0, 3.0, 2.0, 3.0], [2.0, 4.0, 6.0, 8.0])
    return Run({"result": metric.result()}, train=update,
               setup=[tf.variables_initializer(metric.variables)],
               facts={"config": sorted(metric.get_config())})
