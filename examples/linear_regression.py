"""A straight line through noisy points, by gradient descent.

    python -m stillflow examples/linear_regression.py
"""

from __future__ import print_function

import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
x_data = random.uniform(-1.0, 1.0, size=200).astype(np.float32)
y_data = 3.0 * x_data - 1.5 + random.normal(0.0, 0.1, size=200).astype(np.float32)

x = tf.placeholder(tf.float32, name="x")
y = tf.placeholder(tf.float32, name="y")
slope = tf.Variable(0.0, name="slope")
intercept = tf.Variable(0.0, name="intercept")
prediction = slope * x + intercept
loss = tf.reduce_mean(tf.square(prediction - y), name="loss")
train_step = tf.train.GradientDescentOptimizer(0.2).minimize(loss)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(201):
        _, value = sess.run([train_step, loss], feed_dict={x: x_data, y: y_data})
        if step % 50 == 0:
            print("step %3d  loss %.5f  y = %.3f x + %.3f" % (
                (step, value) + tuple(sess.run([slope, intercept]))))
