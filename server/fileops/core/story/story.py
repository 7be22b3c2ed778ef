"""The story of a file: every content that it had, each with its vector. Pure.

A file that returns to a known content takes that content's vector: nothing was written again. The vector after an undo
is computed. Any other content is aligned with the present one and, if the event would then be the writer of text that
the story has elsewhere, with the known content that explains it best.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set

from fileops.core import splices as splicing
from fileops.core.diff.contents import is_blank, splices_between, splices_of_blanks, words_of
from fileops.core.merge.rebase import minimal
from fileops.core.merge.texts import StepTexts
from fileops.core.story.alignment import Aligned, Donor, apply, reorder, splices_by_words
from fileops.core.story.candidates import Candidates, CountedLines
from fileops.core.story.memory import BEHIND, FileMemory, Question, ToldStep
from fileops.core.story.packed import DamagedStory, PackedStory, decode, encode, pack_vectors
from fileops.core.story.spans import OLDER, Block, Span, Texts, Vector, move
from fileops.core.story.undo import Undo
from fileops.core.story.views import Origin, events_by_line
from fileops.core.text import detect_format, split_lines
from fileops.model.digest import content_digest
from fileops.model.edits import Splice
from fileops.model.files import TextFormat
from fileops.model.rewind import FileStep

MAX_CANDIDATES = 64  # known contents with which a new one is compared, the newest; by lines, so each is cheap
MAX_CANDIDATE_LINES = 200_000  # of all of them together
MAX_DONORS = 4  # of these, from which a new content has its lines
MAX_KNOWN_SPANS = 4_000_000  # of all known contents together; about 32 MB
STEPS_AT_ONCE = 1000  # of a story that is told ahead; about 0.2 s
BYTES_AT_ONCE = 64 << 20  # of the contents of these steps together, if they are as long as the present one
MAX_REMEMBERED = 16  # known contents whose vectors a remembered story keeps, the newest


class Forgotten(Exception):
    """A remembered story is asked for a vector that it did not keep. It has to be told anew."""


class Story:
    """All contents of one file up to the present one. Events are numbered from 1; 0 is what is older."""

    def __init__(self, first: bytes, *, has_donors: bool = True) -> None:
        """Args: has_donors: whether a new content may have text of any known one; else only of the present one."""
        self.data, self.has_donors = first, has_donors
        self.vector = Vector.of([Span.from_writer(OLDER, 0, len(first))] if first else ())
        self.texts = Texts()
        self.texts.add(first)
        self.entry_ids: list[str | None] = [None]  # of each event; None if it is not recorded
        self.undos = set[int]()
        self.formats = set[int]()  # events that changed only blanks between the same words
        self.origins: dict[int, list[Origin]] = {}  # of undos: the text that they brought back as if it were new
        # False if an undo led elsewhere than its effects, so that where its text belongs is a guess; or if the contents
        # are of several encodings, whose texts cannot be joined: without text, a file has no byte order mark either.
        self.is_exact = True
        self._fmt = detect_format(first)
        self._digests = [content_digest(first)]  # of the content after each event
        self._known: dict[bytes, Vector] = {}  # by digest, the newest last
        self._forgotten: dict[bytes, int] = {}  # how many spans those have that are known, but were not kept; older
        self._n_known_spans = 0
        self._lines = CountedLines()
        self._candidates = Candidates()
        self._remember()

    def pack(self) -> bytes:
        """Return it as bytes, with the vectors of few contents only. If it is asked for others, it raises Forgotten."""
        known = list(self._known.items())
        n_forgotten = max(len(known) - max(MAX_REMEMBERED, len(self._candidates)), 0)
        forgotten = [*self._forgotten.items(), *((digest, len(vector)) for digest, vector in known[:n_forgotten])]
        known = known[n_forgotten:]
        packed = PackedStory(
            has_donors=self.has_donors,
            is_exact=self.is_exact,
            entry_ids=tuple(self.entry_ids),
            digests=tuple(self._digests),
            undos=tuple(self.undos),
            formats=tuple(self.formats),
            origins=tuple((event, tuple(origins)) for event, origins in self.origins.items()),
            written=tuple(self.texts.written),
            known=tuple(digest for digest, _ in known),
            vectors=pack_vectors([vector for _, vector in known]),
            forgotten=tuple(forgotten),
            candidates=self._lines.pack(self._candidates),
        )
        return encode(packed)

    @classmethod
    def unpack(cls, packed: bytes) -> "Story":
        """Raises: DamagedStory."""
        known = decode(packed)
        try:
            story = cls(known.written[0][1][0], has_donors=known.has_donors)
            story._restore(known)
        except (IndexError, ValueError) as damage:
            raise DamagedStory(str(damage)) from damage
        if content_digest(story.data) != story.digest:
            raise DamagedStory("it leads to another content")
        return story

    def _restore(self, packed: PackedStory) -> None:
        blocks = [Block.of(spans) for spans in packed.vectors.spans]
        vectors = [Vector([blocks[n] for n in numbers]) for numbers in packed.vectors.vectors]
        self.texts, self.vector = Texts(packed.written), vectors[-1]
        self.data = self.texts.content(self.vector)
        self.entry_ids, self._digests = list(packed.entry_ids), list(packed.digests)
        self.undos, self.formats = set(packed.undos), set(packed.formats)
        self.origins = {event: list(origins) for event, origins in packed.origins}
        self.is_exact = packed.is_exact
        self._known, self._forgotten = dict(zip(packed.known, vectors, strict=True)), dict(packed.forgotten)
        self._n_known_spans = sum(map(len, vectors)) + sum(self._forgotten.values())
        self._lines, self._candidates = CountedLines.unpack(packed.candidates)

    @property
    def digest(self) -> bytes:
        """Digest of the present content."""
        return self._digests[-1]

    # --- events ------------------------------------------------------------------------------------------------

    def go_to(
        self,
        data: bytes,
        entry_id: str | None = None,
        *,
        digest: bytes | None = None,
        splices: Sequence[Splice] | None = None,
        compared: Sequence[Splice] | None = None,
        undone: Collection[int] | None = None,
        writes: bool = False,
        is_own: bool = False,
        may_format: bool = False,
        parents: Collection[bytes] = (),
    ) -> None:
        """The file becomes `data`.

        digest: of the data, if it is known. splices: from the present content, if they are known. compared: what a
        comparison with the present content finds, if that is known. undone: the events that this undoes. writes: what
        it inserts is its own, even if it was there before. is_own: its effect is its own, even if it only leads back to
        a known content. may_format: see FileStep. parents: the contents that it may have merged.
        """
        if splices is None and undone is None and may_format:
            splices = splices_of_blanks(self.data, data, detect_format(self.data)) if data != self.data else None
            if splices is not None:
                self.formats.add(len(self.entry_ids))
        parents = [parent for parent in parents if parent != data]
        for parent in parents:
            self._learn(parent)
        event = len(self.entry_ids)
        self.entry_ids.append(entry_id)
        self.texts.add(data)
        self.is_exact = self.is_exact and detect_format(data) == self._fmt
        if undone is not None:
            self.undos.add(event)
        aligned, digest = Aligned(self.vector, ()), digest or content_digest(data)
        if undone or digest != self.digest:
            aligned = self._next(
                data, digest, event, splices, compared, undone or (), parents, writes=writes, is_own=is_own
            )
        if undone is not None and aligned.written:
            self.origins[event] = list(self._find_origins(undone, data, aligned.written))
        self.texts.keep_only(event, aligned.written)
        self.vector, self.data = aligned.vector, data
        self._digests.append(digest)
        self._remember()

    def events_of(self, entry_ids: Collection[str]) -> set[int]:
        return {event for event, entry_id in enumerate(self.entry_ids) if entry_id in entry_ids}

    def undo(self, chosen: Collection[int]) -> Undo:
        """Return what an undo of these events makes of the present content."""
        before = self._content_before_newest(chosen)
        formats = frozenset(self.formats.difference(chosen))
        return Undo(self.vector, self.data, self.texts, frozenset(chosen), formats=formats, before=before)

    def _content_before_newest(self, chosen: Collection[int]) -> bytes | None:
        """Return the content before the events, if there are no others since; None if there are, or it is forgotten."""
        first = min(chosen, default=0)
        # An undo that is being told has no digest yet, so it does not count as a change since.
        if not first or not set(chosen).issuperset(range(first, len(self._digests))):
            return None
        vector = self._find_known(self._digests[first - 1])
        return None if vector is None else self.texts.content(vector)

    def _find_known(self, digest: bytes) -> Vector | None:
        """Return the vector of a known content. Raises: Forgotten."""
        if digest in self._forgotten:
            raise Forgotten
        return self._known.get(digest)

    # --- the next content --------------------------------------------------------------------------------------

    def _next(
        self,
        data: bytes,
        digest: bytes,
        event: int,
        splices: Sequence[Splice] | None,
        compared: Sequence[Splice] | None,
        undone: Collection[int],
        parents: Collection[bytes],
        *,
        writes: bool,
        is_own: bool,
    ) -> Aligned:
        present, content = self.vector, self.data
        if undone:  # even if the content stays, some of its text may not come back any more
            present = self._undo(frozenset(undone), data, event)
            content = self.texts.content(present)
            self.is_exact = self.is_exact and data == content
        if data == content:
            return Aligned(present, ())
        # A file without text has no other text than what this event leaves of it.
        known = None if writes or not data else self._find_known(digest)
        if known is not None and is_own:
            known = self._own(known, data, event)
        if known is not None:
            return Aligned(known, ())
        if undone:  # where it puts what it brings back is its own affair
            present = reorder(present, data, self.texts)
            splices = splices_by_words([self.texts.of(span) for span in present if not span.removers], data)
        elif splices is None or splicing.apply(content, splices) != data:
            if compared is None:
                compared = splices_between(content, data, detect_format(content or data))
            splices = _line_by_line(compared, content)
        fmt = TextFormat(encoding=detect_format(data or content).encoding)
        aligned = apply(present, splices, event, self.texts, fmt, writes=writes, is_own=is_own)
        if writes or not self.has_donors or not (aligned.n_written(data) or parents):
            return aligned
        best = self._best(present, data, event, aligned, splices, parents)
        if not is_own or best is aligned:
            return best
        own = self._own(best.vector, data, event)
        return aligned if own is None else Aligned(own, best.written)

    def _own(self, vector: Vector, data: bytes, event: int) -> Vector | None:
        """Return a vector of the new content, with all that differs from the present one as the event's own change.

        None if text is at other places in the two: there is no one order then.
        """
        own = move(self.vector, vector, event)
        return own if self.texts.content(own) == data else None

    def _find_origins(self, undone: Collection[int], data: bytes, written: Sequence[Span]) -> Iterator[Origin]:
        """Yield the lines, or parts of lines, that an undo of these events only brings back, and whose they are.

        An undo writes nothing: what it brings back beside text of a merge, say, may be in the present content already.
        A line that was there before one of the events is its author's of then. If only all its words are known, its
        author is not. A word that is new was typed by a person who changed the undo when it was reviewed.
        """
        fmt = TextFormat(encoding=detect_format(data).encoding)
        writers, known = dict[bytes, int](), set[bytes]()
        for event in sorted(undone)[-MAX_CANDIDATES:]:
            vector = self._find_known(self._digests[event - 1])
            if vector is not None:
                content = self.texts.content(vector)
                lines, events = split_lines(content, fmt), events_by_line(vector, content)
                writers |= {
                    line.strip(): max(by - self.undos, default=OLDER) for line, by in zip(lines, events, strict=False)
                }
                known.update(words_of(content, fmt))
        for span in self.vector:
            known.update(words_of(self.texts.of(span), fmt))
        for span in written:
            start = span.start
            for line in split_lines(data[span.start : span.stop], fmt):
                writer = writers.get(line.strip())
                if writer is None and known.issuperset(word for word in words_of(line, fmt) if not is_blank(word, fmt)):
                    writer = OLDER
                if writer is not None:
                    yield Origin(start, start + len(line), writer)
                start += len(line)

    def _undo(self, undone: frozenset[int], data: bytes, event: int) -> Vector:
        """Return the vector after an undo that led to this content, or to one like it."""
        vector = self.undo(undone).vector(event)
        if self.texts.content(vector) == data:
            return vector
        formats = frozenset(self.formats - undone)
        return Undo(self.vector, self.data, self.texts, undone, formats=formats, leaves=False).vector(event)

    def _learn(self, content: bytes) -> None:
        """Make a content known that the file never had here: nobody is known to have written what is new in it."""
        if self._find_known(content_digest(content)) is None:
            present = self.data
            self.go_to(content)
            self.go_to(present)

    def _best(
        self,
        present: Vector,
        data: bytes,
        event: int,
        aligned: Aligned,
        splices: Sequence[Splice],
        parents: Collection[bytes],
    ) -> Aligned:
        """Return the alignment that leaves least text to the event. The present content comes first.

        Args: splices: from the content of the present vector. aligned: what they make of it.
        """
        best, fewest = aligned, aligned.n_written(data)
        lines, fmt = self._lines.of(data), TextFormat(encoding=detect_format(data).encoding)
        changed = self._candidates.compare(lines)
        n_different = self._candidates.count_different(changed)
        if (closest := self._closest(changed, n_different)) is not None:
            others = splices_between(self.texts.content(closest), data, detect_format(data))
            if all(splice.start == splice.end for splice in others) and _n_changed(others) < _n_changed(splices):
                other = apply(closest, others, event, self.texts, fmt)
                if other.n_written(data) <= fewest:  # all of the known content is there again, beside new text
                    best, fewest = other, other.n_written(data)
        named = map(self._find_known, map(content_digest, parents))
        donors = [Donor(present, vector, data, self.texts) for vector in named if vector is not None]
        donors += self._find_nearest(present, data, changed - self._candidates.newest, aligned.written, n_different)
        if donors and (fewest or parents):
            other = apply(present, splices, event, self.texts, fmt, donors=donors)
            if (other.n_written(data), other.n_removed(event)) < (fewest, best.n_removed(event)):
                best = other
        return best

    def _closest(self, changed: Set[int], n_different: Sequence[int]) -> Vector | None:
        """Return the known content that differs in the fewest lines, if they are fewer than in the present one.

        It has no line that has gone now; if none has, it has one that has come.

        Args: changed: the lines that have gone or come. n_different: in how many lines each candidate differs.
        """
        gone = changed & self._candidates.newest
        fewest, found = len(changed), None
        n_shared = self._candidates.count_of(gone or changed)
        for digest, n, n_lines in zip(self._candidates, n_shared, n_different, strict=True):
            if n_lines < fewest and (not n if gone else n):
                fewest, found = n_lines, digest
        return None if found is None else self._known[found]

    def _find_nearest(
        self, present: Vector, data: bytes, come: Set[int], written: Sequence[Span], n_different: Sequence[int]
    ) -> Iterator[Donor]:
        """Yield the known contents that have most of the lines that are written, then of the rest.

        A content may have such a line at another place, as the two sides of a conflict are exchanged in the next merge.
        Then it does not give it, and another content is asked for it. The present content may be such a one, too.

        Args: come: the lines that the present content has not. n_different: in how many lines each candidate differs.
        """
        candidates = self._candidates
        missing = come | self._lines.last_of(data, written)
        missing = missing - self._lines.blank or missing
        n_more = [n + n_lines for n, n_lines in zip(n_different, candidates.n_lines_of_each, strict=True)]
        rest = dict(zip(candidates, n_more, strict=True))  # the more of them, the more lines that are not in the data
        del rest[self.digest]
        for _ in range(MAX_DONORS):
            best, found = (0, 0), None
            for digest, gain in zip(candidates, candidates.count_of(missing), strict=True):
                if gain and digest in rest and (gain, -rest[digest]) >= best:
                    best, found = (gain, -rest[digest]), digest
            if found is None:
                return
            del rest[found]
            donor = Donor(present, self._known[found], data, self.texts)
            missing -= self._lines.of(donor.given)
            yield donor

    def _remember(self) -> None:
        """The present content is the newest known one. The oldest are forgotten beyond the limits."""
        digest = self.digest
        n_earlier = self._forgotten.pop(digest, None) or len(self._known.pop(digest, ()))
        self._n_known_spans += len(self.vector) - n_earlier
        self._known[digest] = self.vector
        if self.has_donors:
            self._candidates.add(digest, self._lines.of(self.data))
        candidates = self._candidates
        while len(candidates) > 1 and (len(candidates) > MAX_CANDIDATES or candidates.n_lines > MAX_CANDIDATE_LINES):
            candidates.remove_oldest()
        n_known = len(self._forgotten) + len(self._known)
        while self._n_known_spans > MAX_KNOWN_SPANS and n_known > len(self._candidates):
            oldest = next(iter(self._forgotten or self._known))
            self._n_known_spans -= self._forgotten.pop(oldest, None) or len(self._known.pop(oldest, ()))
            n_known -= 1


def _find_merged(
    steps: Sequence[FileStep], present: bytes, parents: Mapping[str, Collection[bytes]]
) -> dict[str, list[bytes]]:
    """Return the parents of steps without those that the file had for the first time after the step.

    Git is asked for parents a moment late. A commit in that moment may be the first to have what a later step wrote.
    """
    firsts: dict[bytes, int] = {}  # the numbers of the first steps that led to each content
    for number, step in enumerate(steps):
        for digest in (step.before, step.after):
            if digest is not None:
                firsts.setdefault(digest, number)
    firsts.setdefault(content_digest(present), len(steps))
    return {
        step.step_id: [
            parent for parent in parents[step.step_id] if firsts.get(content_digest(parent), number) <= number
        ]
        for number, step in enumerate(steps)
        if step.step_id in parents
    }


def _line_by_line(splices: Sequence[Splice], content: bytes) -> list[Splice]:
    """Return the splices, those of many lines refined line by line if they replace each line by one line.

    Only then is it known what became of each of these lines. Args: content: before the splices.
    """
    result: list[Splice] = []
    fmt = TextFormat(encoding=detect_format(content).encoding)
    for splice in splices:
        old, new = split_lines(content[splice.start : splice.end], fmt), split_lines(splice.new, fmt)
        if len(old) != len(new) or len(old) < 2:
            result.append(splice)
            continue
        start = splice.start
        for line, other in zip(old, new, strict=True):
            parts = splices_between(line, other, fmt)
            result += (Splice(start + part.start, start + part.end, part.new) for part in parts)
            start += len(line)
    return result


def _n_changed(splices: Sequence[Splice]) -> int:
    return sum(splice.end - splice.start + len(splice.new) for splice in splices)


def story_of(
    steps: Sequence[FileStep],
    present: bytes,
    texts: StepTexts,
    undoes: Mapping[str, Collection[str]],
    *,
    tool_edits: Collection[str] = (),
    own: Collection[str] = (),
    parents: Mapping[str, Collection[bytes]] | None = None,
    has_donors: bool = True,
    memory: FileMemory | None = None,
) -> Story:
    """Return the story up to the present content. While there is no file, its content is empty.

    steps: oldest first. undoes: for steps that are undos, the steps that they undid. tool_edits: what these inserted is
    their own. own, parents: by step, see Story.go_to. has_donors: see Story. What a step wrote whose contents are not
    both known belongs to nobody. memory: of the file.
    """
    merged = _find_merged(steps, present, parents) if parents else {}
    told = _to_told(steps, undoes, tool_edits, own, merged)
    return _story_of(told, present, texts, merged, memory, has_donors=has_donors)


def tell_ahead(
    steps: Sequence[FileStep],
    present: bytes,
    texts: StepTexts,
    undoes: Mapping[str, Collection[str]],
    *,
    memory: FileMemory,
    tool_edits: Collection[str] = (),
    own: Collection[str] = (),
    parents: Mapping[str, Collection[bytes]] | None = None,
    has_donors: bool = True,
    prepare: Callable[[Sequence[FileStep]], None] = lambda _steps: None,
) -> Iterator[None]:
    """Tell a story that is remembered in parts, until only few steps are left for story_of, which has the arguments.

    Yields after each part. prepare: called with its steps before they are told.
    """
    n_at_once = max(1, min(STEPS_AT_ONCE, BYTES_AT_ONCE // (len(present) + 1)))
    merged = _find_merged(steps, present, parents) if parents else {}
    told = _to_told(steps, undoes, tool_edits, own, merged)
    _, n_told = memory.find("blame" if has_donors else "places", told)
    for n in range(n_told + n_at_once, len(told), n_at_once):
        prepare(steps[n - n_at_once : n])
        _story_of(told[:n], None, texts, merged, memory, has_donors=has_donors)
        yield


def _story_of(
    steps: Sequence[ToldStep],
    present: bytes | None,
    texts: StepTexts,
    parents: Mapping[str, Collection[bytes]],
    memory: FileMemory | None,
    *,
    has_donors: bool,
) -> Story:
    """Return the story up to the present content; None if that is of no interest, but the last step."""
    question: Question = "blame" if has_donors else "places"
    found, n_told = (None, 0) if memory is None else memory.find(question, steps)
    if memory is not None and found is not None:
        try:
            return _tell(Story.unpack(found), steps, n_told, present, texts, parents, memory)
        except Forgotten:  # a content has returned that the file had long ago
            pass
        except DamagedStory as damage:
            memory.drop(question, damage)
    first = (texts.before(steps[0].step) if steps else present) or b""
    return _tell(Story(first, has_donors=has_donors), steps, 0, present, texts, parents, memory)


def _tell(
    story: Story,
    steps: Sequence[ToldStep],
    n_told: int,
    present: bytes | None,
    texts: StepTexts,
    parents: Mapping[str, Collection[bytes]],
    memory: FileMemory | None,
) -> Story:
    """Tell the steps that have not been told, and return the story. Raises: Forgotten."""
    question: Question = "blame" if story.has_donors else "places"
    is_known = True
    for n, told in enumerate(steps[n_told:], n_told):
        step = told.step
        if memory is not None and is_known and 0 < n == len(steps) - BEHIND:
            memory.keep(question, steps[:n], story.pack())
        if step.before is not None and step.before != story.digest:  # an unrecorded change came before
            before = texts.before(step)
            if before is None:
                is_known = False
                continue
            story.go_to(before)
        after = b"" if step.after is None else texts.after(step)
        if after is None:
            is_known = False
            continue
        splices = compared = None
        if step.reverse is not None:
            splices = splicing.invert(after, minimal(step.reverse, after, detect_format(after)))
        elif memory is not None:
            compared = _find_compared(step, memory)
        story.go_to(
            after,
            step.step_id,
            digest=step.after,
            splices=splices,
            compared=compared,
            undone=None if told.undone is None else story.events_of(set(told.undone)),
            writes=told.undone is None and (step.reverse is not None or told.writes),
            is_own=told.is_own,
            may_format=step.may_format,
            parents=parents.get(step.step_id, ()),
        )
    if memory is not None and is_known and n_told < len(steps):
        memory.keep(question, steps, story.pack())
    if present is not None and present != story.data:  # not recorded yet
        story.go_to(present, may_format=True)
    return story


def _find_compared(step: FileStep, memory: FileMemory) -> Sequence[Splice] | None:
    """Return what a comparison of the contents finds, if a merge has done it."""
    for is_ours in (True, False):
        sided = memory.find_sided(step, is_ours=is_ours)
        if sided is not None and sided.is_compared:
            return sided.forward
    return None


def _to_told(
    steps: Sequence[FileStep],
    undoes: Mapping[str, Collection[str]],
    tool_edits: Collection[str],
    own: Collection[str],
    parents: Mapping[str, Collection[bytes]],
) -> list[ToldStep]:
    tool_edits, own = set(tool_edits), set(own)
    return [
        ToldStep(
            step=step,
            undone=tuple(sorted(undoes[step.step_id])) if step.step_id in undoes else None,
            writes=step.step_id in tool_edits,
            is_own=step.step_id in own,
            parents=tuple(map(content_digest, parents.get(step.step_id, ()))),
        )
        for step in steps
    ]
