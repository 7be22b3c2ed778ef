"""Who is warned of what is not recorded."""

from fileops.service.hub.record_feed import MAX_UNSAID, RecordFeed


class Editor:
    def __init__(self, feed: RecordFeed, name: str, *folders: str) -> None:
        self.read: list[str] = []
        feed.connect_warnings(name, self.read.append, folders.__contains__)


async def test_warning_of_a_folder_is_shown_in_each_editor_that_has_to_do_with_it() -> None:
    feed = RecordFeed()
    first, second, third = Editor(feed, "a", "/p"), Editor(feed, "b", "/p", "/q"), Editor(feed, "c", "/q")
    feed.warn("about p", "/p")
    feed.warn("about all")
    assert [editor.read for editor in (first, second, third)] == [["about p", "about all"]] * 2 + [["about all"]]


async def test_warning_that_no_editor_was_there_for_is_shown_in_the_next_one_only() -> None:
    feed = RecordFeed()
    gone = Editor(feed, "a", "/p")
    feed.disconnect("a")
    feed.warn("about p", "/p")
    feed.warn("about all")
    other, right, late = Editor(feed, "b", "/q"), Editor(feed, "c", "/p"), Editor(feed, "d", "/p")
    assert (gone.read, other.read, right.read, late.read) == ([], ["about all"], ["about p"], [])


async def test_warnings_that_nobody_reads_are_bounded() -> None:
    feed = RecordFeed()
    for n in range(MAX_UNSAID + 5):
        feed.warn(f"{n}")
    assert Editor(feed, "a").read == [f"{n}" for n in range(5, MAX_UNSAID + 5)]
