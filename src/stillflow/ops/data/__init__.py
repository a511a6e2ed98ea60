"""Ops on datasets: pipelines of elements, and the iterators that walk them."""
