"""Descriptions of files for ``python -m stillflow inspect``: dicts that JSON can hold."""
