"""The race program, briefly; and many edits of one file at once. For minutes: python tests/faults/race.py."""

from pathlib import Path

import pytest

from faults.injection import daemon
from faults.race import OUTSIDE, Outside, OutsideWrite, Record, Setting, run


@pytest.mark.parametrize("outside", ["none", "swap", "in-place"])
def test_nothing_is_lost_or_torn_in_a_race(outside: Outside) -> None:
    report = run(Setting(seconds=2, n_files=2, n_linked=1, outside=outside))
    assert not report.faults, str(report)
    assert report.n_edits > 0
    assert (report.n_outside > 0) is (outside != "none")


def test_late_write_in_place_may_be_kept_or_gone() -> None:
    """A daemon may have replaced the file before the write, or after it and kept it; no later check shows which."""
    sure, late, newest = (OutsideWrite(numbers={OUTSIDE: n}, ended=float(n), is_late=n == 2) for n in (1, 2, 3))
    record = Record("f", is_linked=False, outside=[sure, late])
    assert (record.last_outside, record.is_current(1)) == (1, True)
    assert record.is_current(2)
    assert (record.last_outside, record.is_current(1)) == (2, False)
    record.outside.append(newest)
    assert [record.is_current(n) for n in (1, 2, 3)] == [False, False, True]


def test_forty_parallel_edits_of_one_file_all_apply(folder: str) -> None:
    path = f"{folder}/f"
    Path(path).write_text("".join(f"line {i:02d}\n" for i in range(40)))
    with daemon(folder) as client:
        client.result("fileops/read", {"file_path": path})
        ids = [
            client.request(
                "fileops/edit", {"file_path": path, "old_string": f"line {i:02d}\n", "new_string": f"LINE {i:02d}\n"}
            )
            for i in range(40)
        ]
        for msg_id in ids:
            assert client.answer(msg_id)["result"]["status"] == "success"
    assert Path(path).read_text() == "".join(f"LINE {i:02d}\n" for i in range(40))


def test_forty_edits_that_grow_and_shrink_one_linked_file_all_apply(folder: str) -> None:
    """In place, each under its journal; every read in between sees a whole file."""
    path = f"{folder}/f"
    Path(path).write_text("".join(f"line {i:02d}\n" for i in range(40)))
    Path(f"{folder}/twin").hardlink_to(path)
    with daemon(folder) as client:
        client.result("fileops/read", {"file_path": path})
        ids: list[int] = []
        reads: list[int] = []
        for i in range(40):
            new = f"LINE {i:02d} " + "x" * (i * 37 % 1500)
            wish = {
                "file_path": f"{folder}/{'twin' if i % 2 else 'f'}",
                "old_string": f"line {i:02d}",
                "new_string": new,
            }
            if i % 2:  # each name counts as a separate file, but for its lock
                client.result("fileops/read", {"file_path": wish["file_path"]})
            ids.append(client.request("fileops/edit", wish))
            reads.append(client.request("fileops/read", {"file_path": path, "session_id": "reader"}))
        outcomes = [client.answer(msg_id)["result"] for msg_id in ids]
        lines = [client.answer(msg_id)["result"]["details"]["total_lines"] for msg_id in reads]
    assert set(lines) == {40}
    for i, outcome in enumerate(outcomes):
        is_in = f"LINE {i:02d} " in Path(path).read_text()
        assert is_in is (outcome["status"] == "success")
        assert is_in or outcome["error"]["code"] == "modified_externally"
    assert Path(f"{folder}/twin").samefile(path)
