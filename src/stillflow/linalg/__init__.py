"""tf.linalg: matrices known by their structure, `LinearOperator`s; compositions over dense ops."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
