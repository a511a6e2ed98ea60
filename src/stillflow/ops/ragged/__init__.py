"""Op cards of ragged tensors: values in rows that splits (or row numbers) tell apart."""
