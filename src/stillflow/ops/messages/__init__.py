"""Messages of any type, taken apart into tensors and put together of them."""
