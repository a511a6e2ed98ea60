from __future__ import annotations

import pytest

from stillflow.ops.strings.regex import compiled


@pytest.mark.parametrize("pattern, text, expected", [
    (r"\p{Lu}", "aBc\u00c4", ["B", "\u00c4"]), (r"\pN+", "a12\u0663", ["12\u0663"]),
    (r"[\p{Ll}_]+", "ab_C\u00e9", ["ab_", "\u00e9"]), (r"\P{L}", "a1b", ["1"]),
    (r"\p{^L}", "a1b", ["1"]), (r"[^\pL]", "a-b", ["-"]), (r"\p{Any}", "a", ["a"]),
])  # fmt: skip
def test_categories_of_unicode(pattern: str, text: str, expected: list[str]) -> None:
    assert compiled(pattern.encode()).findall(text) == expected


@pytest.mark.parametrize("pattern", [r"\p{Greek}", r"\p", r"\p{"])
def test_what_is_no_category_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ValueError, match="Invalid pattern"):
        compiled(pattern.encode())
