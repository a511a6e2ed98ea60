"""AutoGraph's passes over trees of gast, on which libraries build compilers of their own.

TensorFlow Probability's `experimental.auto_batching` is one. AutoGraph itself passes over trees of
`ast` here (`stillflow.autograph`); these modules need the package gast.
"""
