"""tf.distributions: counts of outcomes."""

from __future__ import annotations

from tests.golden.registry import Run, program


@program
def multinomials(tf):
    counts = tf.constant([[1.0, 2.0, 1.0], [4.0, 0.0, 0.0]])
    by_probs = tf.distributions.Multinomial(4.0, probs=[[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])
    by_logits = tf.distributions.Multinomial([4.0, 3.0], logits=[[1.0, -1.0, 0.5], [0.0, 0.0, 2.0]],
                                             validate_args=True, name="by_logits")
    found = {}
    for name, d in (("probs", by_probs), ("logits", by_logits)):
        found[name] = [d.mean(), d.covariance(), d.variance(), d.probs, d.total_count,
                       d.batch_shape_tensor(), d.event_shape_tensor()]
    found["density"] = by_probs.log_prob(counts), by_probs.prob(counts)
    found["sums"] = tf.reduce_sum(by_probs.sample(5, seed=3), -1)
    return Run(found, facts={"shapes": [d.batch_shape.as_list() + d.event_shape.as_list()
                                        for d in (by_probs, by_logits)]})
