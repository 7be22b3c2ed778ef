"""Lost lines are kept for a day, in private files."""

import os
from pathlib import Path

import pytest

from fileops.model.losses import Loss
from fileops.record.lost_lines import KEPT_S, MAX_LOSSES, Losses


def noted(losses: Losses, path: str = "/p/a") -> Loss:
    loss = losses.note(path, base=b"a\n", theirs=b"a\nfresh\n", written=b"b\n", merged=b"b\nfresh\n", may_store=True)
    assert loss is not None
    return loss


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "losses"


def test_loss_is_found_by_another_daemon_for_a_day(folder: Path) -> None:
    now = [os.stat(folder.parent).st_mtime]
    loss = noted(Losses(str(folder), lambda: now[0]))
    assert (folder / loss.loss_id).stat().st_mode & 0o777 == 0o600
    later = Losses(str(folder), lambda: now[0])
    assert later.get(loss.loss_id) == loss
    now[0] += KEPT_S
    assert later.get(loss.loss_id) is None
    assert Losses(str(folder), lambda: now[0]).get(loss.loss_id) is None


def test_nothing_is_noted_if_no_line_is_missing() -> None:
    losses = Losses()
    assert losses.note("/a", base=b"a\n", theirs=b"a\n\n", written=b"", merged=b"", may_store=True) is None


def test_old_files_are_removed(folder: Path) -> None:
    losses = Losses(str(folder))
    first = noted(losses)
    old = folder / first.loss_id
    os.utime(old, (1, 1))
    others = [noted(losses) for _ in range(MAX_LOSSES)]
    assert not old.exists()
    assert {path.name for path in folder.iterdir()} == {loss.loss_id for loss in others}


def test_what_must_not_be_stored_is_kept_in_memory(folder: Path) -> None:
    losses = Losses(str(folder))
    loss = losses.note("/a", base=b"", theirs=b"secret\n", written=b"", merged=b"", may_store=False)
    assert loss is not None and losses.get(loss.loss_id) == loss
    assert not folder.exists()


def test_folder_that_cannot_be_used_loses_nothing_while_the_daemon_runs(folder: Path) -> None:
    folder.write_text("a file")
    losses = Losses(str(folder))
    loss = noted(losses)
    assert losses.get(loss.loss_id) == loss
    assert noted(Losses(str(folder.parent / "other")), "/p/\udcff").path == "/p/\udcff"  # a name that is not UTF-8


@pytest.mark.parametrize("content", [b"", b"\x00", b"\x81"])
def test_damaged_file_is_no_loss(folder: Path, content: bytes) -> None:
    loss = noted(Losses(str(folder)))
    (folder / loss.loss_id).write_bytes(content)
    assert Losses(str(folder)).get(loss.loss_id) is None
    assert Losses(str(folder)).get("l-../../x") is None
