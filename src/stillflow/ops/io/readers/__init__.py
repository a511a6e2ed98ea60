"""Readers: records of the files whose names come from a queue."""
