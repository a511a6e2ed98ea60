"""What ``python -m stillflow inspect`` finds out about files: dicts that JSON can hold."""
