r"""Translates offsets of a text with LF line ends to offsets of the original text with CRLFs.

A search in a text whose "\r\n" were replaced by "\n" never finds half a CRLF. It uses the linear search of `bytes` and
`str` instead of a pattern that tries both line ends everywhere.
"""

from typing import AnyStr, Generic


class Walk(Generic[AnyStr]):
    """Translates ascending offsets of `original.replace(crlf, lf)` to the original. All together cost one pass."""

    def __init__(self, original: AnyStr, crlf: AnyStr) -> None:
        self._original = original
        self._crlf = crlf
        self._at = self._lf_at = 0

    def to(self, offset: int) -> int:
        """Translate an offset. The offset of a line end becomes the start of the CRLF."""
        original, at = self._original, self._at
        n_left = offset - self._lf_at
        self._lf_at = offset
        while n_left:  # one more unit per CRLF passed; at least halves each round
            end = at + n_left
            n_left = original.count(self._crlf, at, end)
            at = end + (original[end - 1 : end + 1] == self._crlf)
        self._at = at
        return at
