"""Stub files of `tensorflow`, for `python -m stillflow stubs`.

Type checkers and editors do not run the import hook, so they cannot resolve the name `tensorflow`.
The stubs spell out each public name with its signature at run time. They import NumPy and the
standard library only: no checker has to analyse this package and torch with them.
"""
