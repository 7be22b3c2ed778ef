"""The laws of the story of a file, over random histories of lines whose words name their authors."""

import random
import re
from collections.abc import Collection, Sequence

import msgspec
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fileops.core.merge.rewind import rewind_file
from fileops.core.merge.texts import StepTexts
from fileops.core.story import alignment as alignment_module
from fileops.core.story import memory as memory_module
from fileops.core.story import spans as spans_module
from fileops.core.story import story as story_module
from fileops.core.story.candidates import Candidates
from fileops.core.story.memory import FileMemory, Part
from fileops.core.story.packed import DamagedStory
from fileops.core.story.spans import Span, Vector
from fileops.core.story.story import Story, story_of
from fileops.core.story.views import writers_of_lines
from fileops.model.digest import content_digest
from fileops.model.rewind import FileStep

WORD = re.compile(rb"[a-z]+\d+")
AUTHORS = ("ann", "bob", "person")

seeds = st.integers(0, 1 << 32)


class Game:
    """A file, changed by authors whose every word is new. chosen: of each author, the events."""

    def __init__(self, seed: int, n_lines: int = 12) -> None:
        self.random = random.Random(seed)
        self._n_words = 0
        lines = [self.text("base") for _ in range(n_lines)]
        self.story = Story(b"".join(line + b"\n" for line in lines))
        self.events: dict[str, set[int]] = {author: set() for author in AUTHORS}
        self.contents = [self.story.data]

    def play(self, n_steps: int) -> None:
        for _ in range(n_steps):
            self.write(self.random.choice(AUTHORS))

    def write(self, author: str) -> int:
        return self.go_to(self.changed(author), author)

    def go_to(
        self, data: bytes, author: str, *, undone: Collection[int] | None = None, is_tool_edit: bool = False
    ) -> int:
        self.story.go_to(data, author, undone=undone, writes=is_tool_edit)
        event = len(self.story.entry_ids) - 1
        if undone is None and data not in self.contents:
            self.events.setdefault(author, set()).add(event)
        self.contents.append(data)
        assert self.story.texts.content(self.story.vector) == data
        return event

    def changed(self, author: str) -> bytes:
        draw = self.random
        lines = self.story.data.splitlines(keepends=True)
        for _ in range(draw.randint(1, 3)):
            at, kind = draw.randrange(len(lines) + 1), draw.random()
            if kind < 0.4 or at == len(lines):
                lines.insert(at, self.text(author) + b"\n")
            elif kind < 0.75:
                words = lines[at].split() or [b""]
                words[draw.randrange(len(words))] = self._word(author)
                lines[at] = b" ".join(words) + b"\n"
            elif kind < 0.85 and len(lines) > 4:
                del lines[at]
            else:
                lines[at] = b"    " + lines[at]
        return b"".join(lines)

    def reformat(self, *, has_blank_lines: bool = True) -> None:
        """Change blanks between words, as a formatter does: within lines, before them, and between them."""
        draw, data = self.random, self.story.data
        blanks = [b" ", b"  ", b"\n", b"\n    ", *([b"\n\n"] if has_blank_lines else [])]

        def changed(blank: re.Match[bytes]) -> bytes:
            return draw.choice(blanks) if draw.random() < 0.3 else blank[0]

        self.story.go_to(re.sub(rb"\s+", changed, data), "formatter", may_format=True)
        self.contents.append(self.story.data)

    def undo(self, chosen: Collection[int]) -> int:
        """Undo events as the daemon does: the content is the undo's, and which events it undid is known."""
        return self.go_to(self.story.undo(chosen).content(), "undo", undone=chosen)

    def text(self, author: str) -> bytes:
        return b" ".join(self._word(author) for _ in range(self.random.randint(1, 4)))

    def _word(self, author: str) -> bytes:
        self._n_words += 1
        return f"{author}{self._n_words}".encode()


def played(seed: int, n_steps: int = 12) -> Game:
    game = Game(seed)
    game.play(n_steps)
    return game


def words_of(data: bytes, *authors: str) -> list[bytes]:
    return [word for word in WORD.findall(data) if not authors or word.rstrip(b"0123456789").decode() in authors]


def there(vector: Vector) -> list[tuple[int, int]]:
    """The addresses of all bytes that are there."""
    return [(span.writer, at) for span in vector if not span.removers for at in range(span.start, span.stop)]


def is_subsequence(words: Sequence[bytes], of: Sequence[bytes]) -> bool:
    rest = iter(of)
    return all(word in rest for word in words)


@given(seeds)
def test_every_word_belongs_to_its_author(seed: int) -> None:
    story = played(seed).story
    for span in story.vector:
        for word in WORD.findall(story.texts.of(span)):
            author = word.rstrip(b"0123456789").decode()
            assert story.entry_ids[span.writer] == (None if author == "base" else author)


@given(seeds)
def test_preview_takes_away_just_the_text_of_the_undone_and_brings_back_what_they_removed(seed: int) -> None:
    """Law 1: blame, and what an undo takes and brings back, are read off the same spans."""
    game = played(seed)
    undo = game.story.undo(game.events["ann"])
    after = undo.vector(len(game.story.entry_ids))
    assert game.story.texts.content(after) == undo.content()
    before = set(there(game.story.vector))
    taken, brought = before - set(there(after)), set(there(after)) - before
    assert {writer for writer, _ in taken} <= game.events["ann"]
    removed_by_ann = {
        (span.writer, at)
        for span in game.story.vector
        if span.removers and game.events["ann"].issuperset(span.removers)
        for at in range(span.start, span.stop)
    }
    assert brought <= removed_by_ann


@given(seeds, st.integers(0, 11))
def test_content_that_returns_has_its_vector_again(seed: int, back: int) -> None:
    """Law 2: a switch to another branch and back, a stash and its pop, Ctrl+Z and Ctrl+Y."""
    game = played(seed)
    vector, data = game.story.vector, game.story.data
    game.go_to(game.contents[back], "git")
    game.go_to(data, "git")
    assert game.story.vector == vector


@given(seeds)
def test_content_older_than_the_story_takes_nothing_from_its_authors(seed: int) -> None:
    """Law 2: after a switch to a commit that was never seen, and back."""
    game = played(seed)
    vector, data = game.story.vector, game.story.data
    game.go_to(b"an older text\n" + game.contents[0], "git")
    game.go_to(data, "git")
    assert game.story.vector == vector


@given(seeds)
def test_merge_of_two_branches_writes_nothing(seed: int) -> None:
    """Law 3: each line belongs to whom it belongs to on its branch."""
    game = Game(seed, n_lines=20)
    base = game.contents[0].splitlines(keepends=True)
    ours = [b"ann1 ann2\n", *base[:9], b"ann3\n", *base[9:]]
    theirs = [*base[:14], b"bob1\n", *base[15:], b"bob2 bob3\n"]
    merged = [*ours[:16], b"bob1\n", *base[15:], b"bob2 bob3\n"]
    game.go_to(b"".join(ours), "ann")
    game.go_to(b"".join(base), "git")
    game.go_to(b"".join(theirs), "bob")
    game.go_to(b"".join(merged), "merge")
    story = game.story
    writers = [story.entry_ids[writer] for writer in writers_of_lines(story.vector, story.data, story.texts, ())]
    wanted = ["ann" if b"ann" in line else "bob" if b"bob" in line else None for line in merged]
    assert writers == wanted


@given(seeds)
def test_merge_with_parents_that_git_names_has_no_effect_of_its_own(seed: int) -> None:
    """Law 3: what one parent removed is removed by whom it was there, also of a parent that was never seen here."""
    game = Game(seed, n_lines=20)
    draw, base = game.random, game.contents[0].splitlines(keepends=True)
    ours, theirs = list(base[:10]), list(base[10:])
    for half, author in ((ours, b"ann9000"), (theirs, b"bob9000")):
        del half[draw.randint(1, 4)]
        half.insert(draw.randint(5, 8), author + b"\n")
    present, parent = b"".join((*ours, *base[10:])), b"".join((*base[:10], *theirs))
    game.go_to(present, "ann")
    game.story.go_to(b"".join((*ours, *theirs)), "merge", parents=[game.contents[0], parent])
    story = game.story
    event = len(story.entry_ids) - 1
    own = [story.texts.of(span) for span in story.vector if span.writer == event or span.removers == (event,)]
    assert not b"".join(own).split()  # of equal blanks, one may be taken for another
    owners = [story.entry_ids[writer] for writer in writers_of_lines(story.vector, story.data, story.texts, ())]
    assert owners.count("ann") == 1


@given(seeds)
def test_vector_of_an_undo_that_put_lines_elsewhere_has_its_content(seed: int) -> None:
    """An undo by a merge of contents restores a line at another side of the lines of others."""
    game = played(seed)
    lines = game.story.undo(game.events["ann"]).content().splitlines(keepends=True)
    at = game.random.randrange(len(lines))
    lines.insert(game.random.randrange(len(lines)), lines.pop(at))
    lines.insert(at, b"person9000\n")
    game.go_to(b"".join(lines), "undo", undone=game.events["ann"])
    assert game.story.texts.content(game.story.vector) == b"".join(lines)


@given(seeds)
def test_undo_loses_and_moves_no_word_of_others(seed: int) -> None:
    """Law 4."""
    game = played(seed, 20)
    others = words_of(game.story.data, "base", "bob", "person")
    assert is_subsequence(others, words_of(game.story.undo(game.events["ann"]).content()))


@given(seeds)
def test_formatter_takes_no_word_from_its_author_and_keeps_none_from_an_undo(seed: int) -> None:
    """Laws 3 to 6, with a formatter that changes blanks anywhere between the other changes.

    It makes no equal lines: which of those was moved would be a guess.
    """
    game = Game(seed)
    for _ in range(4):
        game.play(3)
        game.reformat(has_blank_lines=False)
    story, data = game.story, game.story.data
    for span in story.vector:
        assert story.entry_ids[span.writer] != "formatter" or not story.texts.of(span).split()
    undo = story.undo(game.events["ann"])
    assert is_subsequence(words_of(data, "base", "bob", "person"), words_of(undo.content()))
    left = {cluster.event for cluster in undo.left} & game.events["ann"]
    for span in undo.vector(len(story.entry_ids)):
        is_undone = span.writer in game.events["ann"] - left and story.texts.of(span).split()
        assert span.removers or not is_undone
    event = game.undo(game.events["ann"])
    assert story.undo({event}).content() == data


@given(seeds)
def test_undo_of_inserted_lines_leaves_none_of_them_because_they_were_formatted(seed: int) -> None:
    """Law 5: whatever a formatter makes of them and of the lines around them."""
    game = Game(seed)
    for _ in range(3):
        lines = game.story.data.splitlines(keepends=True)
        at = game.random.randrange(len(lines) + 1)
        lines[at:at] = [game.text("ann") + b"\n" for _ in range(game.random.randint(1, 3))]
        game.go_to(b"".join(lines), "ann")
        game.reformat()
    undo = game.story.undo(game.events["ann"])
    assert game.events["ann"].isdisjoint(cluster.event for cluster in undo.left)
    assert undo.content().split() == game.contents[0].split()


@given(seeds)
def test_event_is_undone_at_all_places_or_listed(seed: int) -> None:
    """Law 5."""
    game = played(seed, 20)
    undo = game.story.undo(game.events["ann"])
    left = {cluster.event for cluster in undo.left}
    after = undo.vector(len(game.story.entry_ids))
    for span in after:
        undone = game.events["ann"] - left
        is_line_end = game.story.texts.of(span) == b"\n"  # it may stay, for a line of others that needs it
        assert span.removers or span.writer not in undone or is_line_end
        assert undone.isdisjoint(span.removers)


@given(seeds, st.booleans())
def test_redo_is_the_inverse_of_undo(seed: int, has_others: bool) -> None:
    """Law 6, on contents and on vectors; after others have typed elsewhere, as if neither had been."""
    game = played(seed)
    data, vector = game.story.data, game.story.vector
    undo = game.undo(game.events["ann"])
    assume(game.story.data != data)
    typed = b""
    if has_others:
        typed = b"person9000\nperson9001\n\n"
        game.go_to(typed + game.story.data, "person")
    redo = game.story.undo({undo})
    if typed and redo.left:  # what was typed is at a place of the undo
        return
    assert redo.content() == typed + data
    game.undo({undo})
    assert [byte for byte in there(game.story.vector) if byte[0] < undo] == there(vector)


@given(seeds)
@example(28262)  # one of them lends an end of a line
@example(1622927)  # one brings words back into a line that the other has removed with its end
def test_undos_of_two_authors_commute(seed: int) -> None:
    """Law 7, where neither leaves anything."""
    contents: list[bytes] = []
    for first, second in (("ann", "bob"), ("bob", "ann")):
        game = played(seed)
        n_left = len(game.story.undo(game.events[first]).left)
        game.undo(game.events[first])
        n_left += len(game.story.undo(game.events[second]).left)
        game.undo(game.events[second])
        if n_left:
            return
        contents.append(game.story.data)
    assert contents[0] == contents[1]


@given(seeds)
def test_undo_of_everything_is_the_first_content(seed: int) -> None:
    """Law 7."""
    game = played(seed)
    assert game.story.undo(range(1, len(game.story.entry_ids))).content() == game.contents[0]


@given(seeds)
def test_what_is_undone_stays_undone(seed: int) -> None:
    """Law 8: whichever undos and redos came between, none brings back what is undone."""
    game = played(seed, 6)
    undone: dict[int, set[int]] = {}  # by undo in force
    away = set[int]()
    for _ in range(8):
        chance = game.random.random()
        if chance < 0.4:
            game.write("person")
        elif undone and chance < 0.6:
            undo = game.random.choice(list(undone))
            if not game.story.undo({undo}).left:
                game.undo({undo})
                away -= undone.pop(undo)
        else:
            chosen = set(game.random.sample(sorted(game.events["ann"] - away), min(1, len(game.events["ann"] - away))))
            if chosen and not game.story.undo(chosen).left:
                undone[game.undo(chosen)] = chosen
                away |= chosen
        there = [span for span in game.story.vector if not span.removers]
        # A person may indent a line again, but writes no word again.
        assert away.isdisjoint(span.writer for span in there if game.story.texts.of(span).split())


@given(seeds)
def test_undo_of_what_others_restored_by_hand_changes_nothing(seed: int) -> None:
    """Law 9, also beside lines that they typed."""
    game = played(seed, 3)
    before = game.story.data
    event = game.write("ann")
    assume(game.story.data != before)
    game.go_to(b"person9000\n" + before + b"person9001\n", "person")
    undo = game.story.undo({event})
    assert (undo.content(), undo.left) == (game.story.data, [])


@given(seeds)
def test_text_of_a_tool_edit_is_its_own(seed: int) -> None:
    """Law 10: even if the same words were there before."""
    game = played(seed)
    data = game.story.data
    line, rest = data.split(b"\n", 1)
    game.go_to(rest, "person")
    game.go_to(data, "ann", is_tool_edit=True)
    story = game.story
    assert writers_of_lines(story.vector, story.data, story.texts, ())[0] == len(story.entry_ids) - 1 or not line


@given(seeds)
def test_file_that_is_made_again_returns(seed: int) -> None:
    """Law 13."""
    game = played(seed)
    vector, data = game.story.vector, game.story.data
    game.go_to(b"", "person")
    game.go_to(data, "person")
    assert game.story.vector == vector


@given(seeds)
def test_forgotten_contents_change_no_author(seed: int) -> None:
    """Law 14: of text that was there all the time."""
    owners: list[list[int]] = []
    for limit in (story_module.MAX_KNOWN_SPANS, 10):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(story_module, "MAX_KNOWN_SPANS", limit)
            patch.setattr(story_module, "MAX_CANDIDATES", 2 if limit == 10 else 64)
            story = played(seed).story
        owners.append(writers_of_lines(story.vector, story.data, story.texts, ()))
    assert owners[0] == owners[1]


@given(seeds, st.integers(1, 40))
def test_returns_make_the_vector_no_longer(seed: int, n_switches: int) -> None:
    """Law 15: an answer does not depend on how often git has switched."""
    game = played(seed)
    vector, data = game.story.vector, game.story.data
    for _ in range(n_switches):
        game.go_to(game.contents[0], "git")
        game.go_to(data, "git")
    assert game.story.vector is vector


@given(seeds)
def test_vector_does_not_depend_on_its_blocks(seed: int) -> None:
    found: list[list[Span]] = []
    for size in (2, 256):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spans_module, "BLOCK_SPANS", size)
            game = played(seed)
            undo = game.undo(game.events["ann"])
            game.reformat()
            game.play(4)
            game.undo({undo})
            game.go_to(game.contents[3] + b"git1\n", "git")
        found.append(list(game.story.vector))
    assert found[0] == found[1]


@given(seeds)
def test_text_is_found_among_all_that_was_removed_in_its_place(seed: int) -> None:
    """In one block, each of the spans is read; of other blocks that have only removed ones, their texts are known."""
    found: list[list[Span]] = []
    for size in (2, 1_000):
        draw = random.Random(seed)
        words = [b"a", b"ab", b"abc", b"ab ab", b"b c", b" a", b"\xc3\xa9"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spans_module, "BLOCK_SPANS", size)
            patch.setattr(spans_module, "MAX_REMOVED_BLOCKS", 3)
            patch.setattr(alignment_module, "MAX_REMOVED_SPANS", 7)
            story = Story(b"first\n", has_donors=draw.random() < 0.5)
            for n in range(40):  # each content is new
                changed = b" ".join(draw.choices(words, k=draw.randint(1, 4)))
                story.go_to(b"%b\n%b%d\n" % (changed, draw.choice((b"", b"a\n")), n), is_own=draw.random() < 0.2)
        found.append(list(story.vector))
    assert found[0] == found[1]


@pytest.mark.parametrize(("n_since", "is_known"), [(2, True), (300, True), (512, True), (513, False)])
def test_word_belongs_to_its_writer_if_few_were_removed_in_its_place_since(n_since: int, is_known: bool) -> None:
    story = Story(b"word\nbetween\nend\n", has_donors=False)
    for n in range(1, 601):
        story.go_to(b"word%d\nbetween\nend\n" % n)
    writer = 601 - n_since
    story.go_to(b"word%d\nbetween\nnew\n" % writer)
    assert next(span.writer for span in story.vector if span.n_bytes) == (writer if is_known else 601)


def test_change_of_one_place_makes_few_new_blocks() -> None:
    """Law 15: it does not copy the spans of the whole file."""
    lines = [b"line%d\n" % n for n in range(4_000)]
    story = Story(b"".join(lines))
    for n in range(0, 4_000, 2):
        lines[n] = b"ann%d\n" % n
        story.go_to(b"".join(lines), "ann")
    for n in (0, 1_001, 3_999):
        known = set(map(id, story.vector.blocks))
        lines[n] = b"bob%d\n" % n
        story.go_to(b"".join(lines), "bob")
        assert len(story.vector) > 4_000
        assert sum(id(block) not in known for block in story.vector.blocks) <= 2
    lines.append(b"bob\n")
    for n in range(1_000):
        lines[-1] = b"bob%d\n" % n
        story.go_to(b"".join(lines), "bob")
        assert sum(id(block) not in known for block in story.vector.blocks) <= 4
        known.update(map(id, story.vector.blocks))
    assert len(story.vector.blocks) < len(story.vector) / (spans_module.BLOCK_SPANS / 4)


@given(seeds)
def test_lines_of_candidates_are_counted_as_if_each_was_kept(seed: int) -> None:
    draw, candidates, kept = random.Random(seed), Candidates(), dict[bytes, frozenset[int]]()
    numbers = range(12)
    for _ in range(draw.randint(1, 30)):
        digest = b"%d" % draw.randrange(6)
        lines = kept.pop(digest, frozenset(draw.sample(numbers, draw.randint(0, 12))))
        kept[digest] = lines
        candidates.add(digest, lines)
        if len(kept) > 1 and draw.random() < 0.3:
            del kept[next(iter(kept))]
            candidates.remove_oldest()
        if draw.random() < 0.3:
            digests, changes, candidates = list(candidates), candidates.list_changes(), Candidates()
            candidates.restore(digests, changes)
        asked = frozenset(draw.sample(numbers, draw.randint(0, 12)))
        assert list(candidates) == list(kept)
        assert (candidates.newest, candidates.n_lines) == (lines, sum(map(len, kept.values())))
        assert candidates.n_lines_of_each == list(map(len, kept.values()))
        assert candidates.count_of(asked) == [len(asked & each) for each in kept.values()]
        assert candidates.count_different(candidates.compare(asked)) == [len(asked ^ each) for each in kept.values()]


class Shelf:
    """Where a memory is stored in these tests."""

    def __init__(self) -> None:
        self.parts: dict[Part, bytes] = {}
        self.damages: list[Exception] = []

    def read(self, part: Part) -> bytes | None:
        return self.parts.get(part)

    def note_damage(self, part: Part, damage: Exception) -> None:
        del self.parts[part]
        self.damages.append(damage)


@settings(max_examples=30)  # each plays a dozen changes and tells the story of them twelve times
@given(seeds)
def test_story_that_is_told_further_is_the_one_that_is_told_anew(seed: int) -> None:
    """Law 15: also after undos, contents that return, formatters, and steps that are someone else's by now.

    Law 14: also after a restart, and if what was stored is damaged.
    """
    game, draw, shelf = Game(seed), random.Random(seed), Shelf()
    memory = FileMemory(stored=shelf)
    steps, contents = list[FileStep](), {content_digest(game.story.data): game.story.data}
    undoes, chosen = dict[str, list[str]](), set[str]()
    with pytest.MonkeyPatch.context() as patch:
        for module in (story_module, memory_module):
            patch.setattr(module, "BEHIND", 3)
        for few in ("MAX_REMEMBERED", "MAX_CANDIDATES"):  # so contents return whose vectors are not remembered
            patch.setattr(story_module, few, draw.choice((1, 64)))
        patch.setattr(memory_module, "MIN_STORED", 1)
        for _ in range(6):
            for _ in range(draw.randint(1, 4)):
                before, step_id, may_format = game.story.data, f"e{len(steps)}", False
                match draw.randrange(8):
                    case 0:
                        game.undo(game.events["ann"])
                        undoes[step_id] = [step.step_id for step in steps if step.step_id in chosen]
                    case 1:
                        game.go_to(draw.choice(game.contents), "git")
                    case 2:
                        game.reformat()
                        may_format = True
                    case _:
                        game.write("ann")
                        chosen.add(step_id)
                contents[content_digest(game.story.data)] = game.story.data
                after = content_digest(game.story.data)
                steps.append(FileStep(step_id, content_digest(before), after, may_format=may_format))
            if draw.random() < 0.3 and chosen:
                chosen.remove(draw.choice(sorted(chosen)))
            present = game.story.data + draw.choice((b"", b"typed1\n"))
            for own in (frozenset(chosen), frozenset[str]()):
                anew, further = (
                    story_of(
                        steps,
                        present,
                        StepTexts(contents.get),
                        undoes,
                        own=own,
                        has_donors=not own,
                        memory=remembered,
                    )
                    for remembered in (None, memory)
                )
                assert further.vector == anew.vector
                assert further.texts.content(further.vector) == present
                assert (further.entry_ids, further.undos, further.formats) == (
                    anew.entry_ids,
                    anew.undos,
                    anew.formats,
                )
                shelf.parts.update(memory.take_grown("places" if own else "blame", steps, own))
            rewinds = [
                rewind_file(steps, chosen, present, contents.get, undoes=undoes, memory=remembered)
                for remembered in (None, memory, memory)
            ]
            for rewind in rewinds:
                assert replace(rewind, conflict=None) == replace(rewinds[0], conflict=None)
            if draw.random() < 0.5:
                memory = FileMemory(stored=shelf)
                if draw.random() < 0.3:
                    shelf.parts = {part: _damage(part, packed, draw) for part, packed in shelf.parts.items()}


def _damage(part: Part, packed: bytes, draw: random.Random) -> bytes:
    """Cut what is stored, or the story in it."""
    if part == "sides" or draw.random() < 0.3:
        return packed[: draw.randrange(len(packed))]
    n_steps, digest, story = msgspec.msgpack.decode(packed, type=tuple[int, bytes, bytes])
    return msgspec.msgpack.encode((n_steps, digest, story[: draw.randrange(len(story))]))


@given(seeds)
def test_packed_story_is_the_story(seed: int) -> None:
    game = played(seed)
    game.undo(game.events["ann"])
    told, packed = game.story, game.story.pack()
    story = Story.unpack(packed)
    assert (story.vector, story.data, story.digest) == (told.vector, told.data, told.digest)
    assert (story.entry_ids, story.undos, story.formats) == (told.entry_ids, told.undos, told.formats)
    assert (story.origins, story.is_exact, story.texts.written) == (told.origins, told.is_exact, told.texts.written)
    text = max((told.texts.of(span) for span in told.vector if span.n_bytes), key=len, default=b"")
    assume(text.strip(b"\0"))
    with pytest.raises(DamagedStory):
        Story.unpack(packed.replace(text, bytes(len(text))))
