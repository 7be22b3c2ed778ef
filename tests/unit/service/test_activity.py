"""What sessions did to files, counted and bounded."""

from msgspec.structs import replace

from fileops.model.sessions import SessionName
from fileops.service import activity
from fileops.service.activity import ActivityLog, by_relevance, make_untouched, merge


def test_counts_and_times_are_kept_per_session() -> None:
    book = ActivityLog()
    book.note_read(SessionName("s"), "/a", 1.0)
    book.note_read(SessionName("s"), "/a", 2.0)
    book.note_edit(SessionName("s"), "/a", 3.0)
    book.note_conflict(SessionName("t"), "/a", 4.0)
    assert book.files(SessionName("s")) == (
        replace(make_untouched("/a"), n_reads=2, n_edits=1, read_at=2.0, edited_at=3.0),
    )
    assert book.files(SessionName("t")) == (replace(make_untouched("/a"), n_conflicts=1, conflicted_at=4.0),)
    book.drop_session(SessionName("s"))
    assert book.files(SessionName("s")) == ()


def test_least_recently_used_file_is_dropped_first() -> None:
    book = ActivityLog()
    book.note_read(SessionName("s"), "/kept", 0.0)
    for n in range(activity.MAX_FILES):
        book.note_read(SessionName("s"), f"/{n}", 1.0)
        if n == 5:
            book.note_read(SessionName("s"), "/kept", 2.0)
    assert len(book.files(SessionName("s"))) == activity.MAX_FILES
    assert "/kept" in {file.file_path for file in book.files(SessionName("s"))}
    assert "/0" not in {file.file_path for file in book.files(SessionName("s"))}


def test_conflict_counts_as_changed_until_the_file_is_read_again() -> None:
    refused = replace(make_untouched("/refused"), n_conflicts=1, read_at=1.0, conflicted_at=2.0)
    read_again = replace(make_untouched("/again"), n_conflicts=1, read_at=3.0, conflicted_at=2.0)
    assert [file.file_path for file in by_relevance((read_again, refused))] == ["/refused", "/again"]


def test_two_names_of_a_file_are_one() -> None:
    one = replace(make_untouched("/one"), n_reads=1, read_at=1.0)
    other = replace(make_untouched("/other"), n_edits=2, edited_at=5.0, n_reads=1, read_at=0.5)
    both = replace(make_untouched("/other"), n_reads=2, n_edits=2, read_at=1.0, edited_at=5.0)
    assert merge(one, other) == merge(other, one) == both
