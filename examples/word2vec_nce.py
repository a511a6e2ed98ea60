"""Skip-gram word vectors by noise-contrastive estimation, on the text of Python's own manual.

    python -m stillflow examples/word2vec_nce.py
"""

from __future__ import division, print_function

import collections
import pydoc_data.topics
import re

import numpy as np
import tensorflow as tf

VOCABULARY = 1000
DIMENSIONS = 32
WINDOW = 4
BATCH = 256
STEPS = 10001
SHOWN = ["function", "list", "string", "class", "integer", "import"]


def manual():
    """Return the words of the language reference that `help()` prints, in order."""
    text = " ".join(pydoc_data.topics.topics[name] for name in sorted(pydoc_data.topics.topics))
    return re.findall(r"[a-z]+", text.lower())


def encode(words):
    """Replace words by their rank in frequency; 0 stands for every rare word."""
    common = collections.Counter(words).most_common(VOCABULARY - 1)
    ranks = {word: rank for rank, (word, _) in enumerate(common, 1)}
    names = ["UNK"] + [word for word, _ in common]
    return np.array([ranks.get(word, 0) for word in words], np.int32), names, ranks


def pairs(data, random):
    """Return a batch of words and, for each, one word from its neighbourhood."""
    centres = random.randint(WINDOW, len(data) - WINDOW, size=BATCH)
    offsets = random.choice([o for o in range(-WINDOW, WINDOW + 1) if o], size=BATCH)
    return data[centres], data[centres + offsets][:, None]


data, names, ranks = encode(manual())
print("%d words, %d of them different" % (len(data), len(set(data.tolist()))))

tf.set_random_seed(5)
inputs = tf.placeholder(tf.int32, [BATCH], name="inputs")
labels = tf.placeholder(tf.int32, [BATCH, 1], name="labels")
embeddings = tf.Variable(tf.random_uniform([VOCABULARY, DIMENSIONS], -0.2, 0.2), name="embeddings")
nce_weights = tf.Variable(
    tf.truncated_normal([VOCABULARY, DIMENSIONS], stddev=1.0 / DIMENSIONS ** 0.5))
nce_biases = tf.Variable(tf.zeros([VOCABULARY]))
embedded = tf.nn.embedding_lookup(embeddings, inputs)
loss = tf.reduce_mean(tf.nn.nce_loss(
    weights=nce_weights, biases=nce_biases, labels=labels, inputs=embedded,
    num_sampled=32, num_classes=VOCABULARY))
train_step = tf.train.AdagradOptimizer(0.5).minimize(loss)

unit = tf.nn.l2_normalize(embeddings, 1)
shown = tf.constant([ranks[word] for word in SHOWN], tf.int32)
similarity = tf.matmul(tf.nn.embedding_lookup(unit, shown), unit, transpose_b=True)
_, nearest = tf.nn.top_k(similarity, k=6)

random = np.random.RandomState(5)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    total = 0.0
    for step in range(STEPS):
        words, neighbours = pairs(data, random)
        total += sess.run([loss, train_step], {inputs: words, labels: neighbours})[0]
        if step % 1000 == 0:
            print("step %5d  loss %8.3f" % (step, total / (1000 if step else 1)))
            total = 0.0
    for word, row in zip(SHOWN, sess.run(nearest)):
        print("%-9s %s" % (word, ", ".join(names[i] for i in row if names[i] != word)))
