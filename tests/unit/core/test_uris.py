import pytest
from hypothesis import given
from hypothesis import strategies as st

from fileops.core.uris import path_of, uri_of

PATHS = [
    ("file:///tmp/a%20b", "/tmp/a b"),
    ("file:///tmp/%E9.txt", "/tmp/\udce9.txt"),
    ("file:///tmp/%C3%A9.txt", "/tmp/é.txt"),
    ("file://localhost/x", "/x"),
    ("FILE:///x", "/x"),
    ("file:/x", "/x"),
    ("file:///a%3Fb%23c", "/a?b#c"),
    ("file:///a%3A", "/a:"),
]
NO_PATHS = [
    "",
    "untitled:x",
    "http://a/b",
    "file://[",
    "file://server/share",
    "vscode-remote://x/y",
    "file:x",
    "file:///a%00",
    "file:///\ud800",
]


@pytest.mark.parametrize(("uri", "path"), PATHS)
def test_file_uri_names_a_path(uri: str, path: str) -> None:
    assert path_of(uri) == path


@pytest.mark.parametrize("uri", NO_PATHS)
def test_other_uris_name_no_path(uri: str) -> None:
    assert path_of(uri) is None


@given(st.binary(min_size=1, max_size=50).filter(lambda name: b"\0" not in name))
def test_every_path_survives_the_round_trip_through_a_uri(name: bytes) -> None:
    path = "/" + name.decode("utf-8", "surrogateescape")
    assert path_of(uri_of(path)) == path
