"""Operations on sound that hardly any program uses."""
