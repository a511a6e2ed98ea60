"""Operations of TPUs: graphs with them are built, only such a device runs them."""
