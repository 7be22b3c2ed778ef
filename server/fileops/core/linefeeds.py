r"""From a text with LF line ends back to where its pieces stand in the original.

A search in a text whose "\r\n" were replaced by "\n" never finds half a CRLF, and is the linear search of `bytes` and
`str` instead of a pattern that tries both line ends everywhere.
"""

from typing import AnyStr, Generic


class Walk(Generic[AnyStr]):
    """Offsets of `original.replace(crlf, lf)` to those of the original, ascending. All of them cost one pass."""

    def __init__(self, original: AnyStr, crlf: AnyStr) -> None:
        self._original, self._crlf = original, crlf
        self._at = self._lf_at = 0

    def to(self, offset: int) -> int:
        """Before a line end: in front of the whole of it."""
        original, at = self._original, self._at
        n_left = offset - self._lf_at
        self._lf_at = offset
        while n_left:  # each CRLF that was passed is one unit too few: half as many at most as in the round before
            end = at + n_left
            n_left = original.count(self._crlf, at, end)
            at = end + (original[end - 1 : end + 1] == self._crlf)
        self._at = at
        return at
