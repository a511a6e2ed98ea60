"""Operations on images of contrib: transforms, components, matches, lookups between pixels."""
