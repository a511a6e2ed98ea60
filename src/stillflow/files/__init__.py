"""Bytes on disk: checkpoints, records, event files. Needs neither torch nor a graph."""
