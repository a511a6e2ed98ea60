"""How operations run: thread counts, and the dataflow executor for irregular control flow."""
