"""How many folders may be watched, as the kernel is configured."""

from pathlib import Path

import pytest

from fileops.watch.limits import MAX_EMITTERS, max_inotify_folders


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (["8192", "1048576"], 2048),
        (["65536\n", "16\n"], 4),
        (["524288"], 131072),
        (["not a number", "400"], 100),
        (["not a number"], MAX_EMITTERS),
        ([], MAX_EMITTERS),
    ],
)
def test_folders_get_a_quarter_of_the_smallest_limit(tmp_path: Path, limits: list[str], expected: int) -> None:
    files = [tmp_path / name for name in ("user", "namespace")]
    for file, limit in zip(files, limits, strict=False):
        file.write_text(limit, encoding="ascii")
    assert max_inotify_folders(tuple(map(str, files))) == expected


def test_limit_is_read_at_each_call(tmp_path: Path) -> None:
    file = tmp_path / "limit"
    for limit in (400, 800):
        file.write_text(str(limit), encoding="ascii")
        assert max_inotify_folders((str(file),)) == limit // 4
