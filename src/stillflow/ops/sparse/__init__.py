"""Operations on sparse tensors, and sets in their last dimension."""
