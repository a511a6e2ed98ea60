"""What `stillflow doctor` looks at: facts of the machine, and what they mean."""

from __future__ import annotations
