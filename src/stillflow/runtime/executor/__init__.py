"""Execution of operations: thread counts, and the dataflow executor for irregular control flow."""
