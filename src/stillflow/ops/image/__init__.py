"""Operations on images: resizing, cropping, colours, boxes, and coding as files."""
