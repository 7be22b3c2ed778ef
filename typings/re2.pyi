"""The part of google-re2 that we use; the package ships no types."""

from collections.abc import Iterator, Mapping

class error(Exception): ...  # noqa: N801

class Options:
    max_mem: int
    log_errors: bool

class Match:
    def span(self, number: int = 0) -> tuple[int, int]: ...
    def group(self, number: int) -> bytes | None: ...

class Pattern:
    groups: int
    groupindex: Mapping[str | bytes, int]
    def finditer(self, text: bytes) -> Iterator[Match]: ...

def compile(pattern: bytes, options: Options) -> Pattern: ...  # noqa: A001
