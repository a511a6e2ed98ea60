"""tf.ragged: tensors whose rows have different lengths.

Importing any module of this package makes the functions of other families take such tensors.
"""

import stillflow.ragged.dispatching
import stillflow.ragged.fetching  # noqa: F401
