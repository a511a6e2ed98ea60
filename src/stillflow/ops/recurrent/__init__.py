"""Operations for recurrent networks: blocks of cells, decoding, connectionist losses."""
