"""One read in a worker thread: find the file, stream the window, and report what the read shows of it.

Owns the order of a read's checks. What it shows is recorded once it was sent (see `service/fileops.py`). Knows nothing
of the wire, the event loop or other reads.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.core import text
from fileops.core.presentation import outputs
from fileops.core.presentation.failures import failure_text
from fileops.core.roots import Roots
from fileops.core.text import newline_of, rfind_aligned
from fileops.core.windows.numbered import WindowReader
from fileops.core.windows.raw import RawReader
from fileops.model.digest import CHUNK_BYTES, Hasher, content_digest
from fileops.model.errors import (
    BinaryFile,
    FileMissing,
    FileOpsError,
    ImageUnreadable,
    TooLarge,
    TooManyChars,
)
from fileops.model.files import ReadProof, TextFormat
from fileops.model.requests import ReadRequest
from fileops.model.results import ReadResult, Window
from fileops.model.settings import Settings, Texts
from fileops.ports import ContentStream, FileSystem, ImageDetector
from fileops.service.paths import with_canonical_path
from fileops.service.reading import images
from fileops.service.reading.line_index import LineIndex, LineIndexes
from fileops.service.reading.refused_places import RefusedPlaces
from fileops.tracking.content_cache import MAX_BASE_BYTES
from fileops.tracking.freshness import Freshness


class ReadOperation(Struct, frozen=True):
    fs: FileSystem
    freshness: Freshness
    settings: Settings
    detector: ImageDetector = images.ContentDetector()
    line_indexes: LineIndexes = field(default_factory=LineIndexes)
    refused_places: RefusedPlaces = field(default_factory=RefusedPlaces)

    def read(self, request: ReadRequest, roots: Roots | None, token: CancelToken) -> ReadResult:
        """Return the result. A failure of the read is a result, not an exception. Raises: Cancelled."""

        def work(canonical: str) -> ReadResult:
            return self._read_canonical(canonical, request, token)

        try:
            return with_canonical_path(self.fs, request.file_path, roots, token, work)
        except FileOpsError as error:
            return _failed(request, error, self.settings.texts)

    def read_cached(self, request: ReadRequest, roots: Roots | None) -> ReadResult | None:
        """Read on the event loop if there is nothing to wait for; otherwise return None, without any effect."""
        path = request.file_path
        stream = self.fs.try_open_cached(path)
        if stream is None:
            return None
        with stream:
            if roots is not None and not roots.contains(path):
                return None
            chunk = stream.read(CHUNK_BYTES)
            if b"\0" in chunk:  # not plain text, and decoding an image takes time
                return None
            try:
                return self._read_stream(path, stream, chunk, request, CancelToken())
            except FileOpsError as error:
                return _failed(request, error, self.settings.texts)

    def _read_canonical(self, canonical: str, request: ReadRequest, token: CancelToken) -> ReadResult:
        try:
            with self.fs.open(canonical) as stream:
                return self._read_stream(canonical, stream, stream.read(CHUNK_BYTES), request, token)
        except FileMissing:
            self.freshness.note_missing(request.session_id, canonical)
            raise

    def _read_stream(
        self, canonical: str, stream: ContentStream, chunk: bytes, request: ReadRequest, token: CancelToken
    ) -> ReadResult:
        """Continue reading after `chunk`, the first of the stream."""
        limits = self.settings.limits
        stamp = stream.stamp
        whole = request.offset is None and request.limit is None
        fmt = text.detect_format(chunk)
        is_binary = text.is_binary(chunk, fmt)
        if (
            is_binary
            and not request.raw
            and self.settings.images == "attach"
            and (file_type := self.detector.detect(canonical, chunk)) is not None
        ):
            return self._read_image(canonical, stream, chunk, file_type, request, token)
        if whole and stamp.size_bytes > limits.max_file_kb * 1024:
            to_read = self.refused_places.lines_in(request.session_id, canonical, stamp)
            raise TooLarge(size_bytes=stamp.size_bytes, max_kb=limits.max_file_kb, to_read=to_read)
        if is_binary:
            raise BinaryFile
        window, digest, content = self._window(stream, chunk, fmt, request, token)
        output = "" if request.raw else _output(window, self.settings.texts)
        _require_fits(output, request.max_output_bytes)
        read_proof = ReadProof(
            session_id=request.session_id,
            given_path=request.file_path,
            path=canonical,
            stamp=stamp,
            taken_ns=stream.taken_ns,
            digest=digest,
            source=stream.source,
            version=stream.version,
            content=content,
            is_whole=window.is_whole,
        )
        return ReadResult(
            output=output,
            window=window,
            format=fmt,
            size_bytes=stamp.size_bytes,
            mtime_ns=stamp.mtime_ns,
            source=stream.source,
            document_version=stream.version,
            encoding=stream.encoding,
            is_raw=request.raw,
            read_proof=read_proof,
        )

    def _read_image(
        self,
        canonical: str,
        stream: ContentStream,
        chunk: bytes,
        file_type: str,
        request: ReadRequest,
        token: CancelToken,
    ) -> ReadResult:
        """Read the whole image, since a range of lines means nothing here. Raises: ImageUnreadable."""
        pieces, n_bytes = list[bytes](), 0
        while chunk:
            token.check()
            n_bytes += len(chunk)
            if n_bytes > images.MAX_FILE_BYTES:
                raise ImageUnreadable(reason=f"it has more than {images.MAX_FILE_BYTES >> 20} MB")
            pieces.append(chunk)
            chunk = stream.read(CHUNK_BYTES)
        data = b"".join(pieces)
        picture = images.picture_of(data, file_type)
        token.check()
        read_proof = ReadProof(
            session_id=request.session_id,
            given_path=request.file_path,
            path=canonical,
            stamp=stream.stamp,
            taken_ns=stream.taken_ns,
            digest=content_digest(data),
            source=stream.source,
            version=stream.version,
        )
        return ReadResult(
            output=outputs.image_text(file_type),
            picture=picture,
            size_bytes=stream.stamp.size_bytes,
            mtime_ns=stream.stamp.mtime_ns,
            source=stream.source,
            document_version=stream.version,
            read_proof=read_proof,
        )

    def _window(
        self, stream: ContentStream, chunk: bytes, fmt: TextFormat, request: ReadRequest, token: CancelToken
    ) -> tuple[Window, bytes | None, bytes | None]:
        """Return the window, the content's digest if all of it was read, and the content if it is kept.

        Raises: TooManyChars, TooLarge.
        """
        keeps_base = self.settings.freshness == "relevant"
        if stream.stamp.size_bytes > (MAX_BASE_BYTES if keeps_base else CHUNK_BYTES) and stream.source == "disk":
            # An index has offsets into the file. A text in a named encoding has other offsets.
            index = self.line_indexes.of(stream.stamp, stream.taken_ns) if stream.encoding is None else None
            return *self._window_of_large(stream, chunk, fmt, request, token, index), None
        reader = self._reader(request, fmt)
        digest = Hasher()
        chunks = list[bytes]()
        while chunk:  # read this small file to its end, to know its digest
            token.check()
            digest.update(chunk)
            chunks.append(chunk)
            reader.feed(chunk)
            chunk = stream.read(CHUNK_BYTES)
        window = reader.finish()
        content = chunks[0] if len(chunks) == 1 else b"".join(chunks) if keeps_base or not chunks else None
        if window.total_lines is None and content is not None and len(chunks) <= 1:
            window = replace(window, total_lines=text.count_lines(content, fmt))
        return window, digest.digest(), content

    def _window_of_large(
        self,
        stream: ContentStream,
        chunk: bytes,
        fmt: TextFormat,
        request: ReadRequest,
        token: CancelToken,
        index: LineIndex | None,
    ) -> tuple[Window, bytes | None]:
        line, at = (1, 0) if index is None else index.point_before(request.offset or 1)
        digest = Hasher() if at == 0 else None
        if at:
            stream.seek(at)
            chunk = stream.read(CHUNK_BYTES)
        reader = self._reader(request, fmt, start_line=line, start_offset=at)
        while chunk:
            token.check()
            if reader.feed(chunk):
                window = reader.finish()
                return (window if index is None else replace(window, total_lines=index.total_lines)), None
            if digest is not None:
                digest.update(chunk)
            if index is not None and at % fmt.unit_bytes == 0:
                newline = rfind_aligned(chunk, newline_of(fmt), fmt, 0, len(chunk))
                if newline >= 0:
                    index.note(reader.line, at + newline + fmt.unit_bytes)
            at += len(chunk)
            chunk = stream.read(CHUNK_BYTES)
        window = reader.finish()
        if index is not None:
            index.total_lines = window.total_lines
        return window, None if digest is None else digest.digest()

    def _reader(
        self, request: ReadRequest, fmt: TextFormat, *, start_line: int = 1, start_offset: int = 0
    ) -> WindowReader | RawReader:
        limits = self.settings.limits
        if request.raw:
            return RawReader(
                offset=request.offset,
                limit=request.limit,
                max_kb=limits.max_file_kb,
                fmt=fmt,
                start_line=start_line,
                start_offset=start_offset,
            )
        return WindowReader(
            offset=request.offset,
            limit=request.limit,
            limits=limits,
            fmt=fmt,
            start_line=start_line,
            start_offset=start_offset,
        )


def _failed(request: ReadRequest, error: FileOpsError, texts: Texts) -> ReadResult:
    return ReadResult(output=failure_text(error, "read", request.file_path, texts), error=error)


def _require_fits(output: str, max_output_bytes: int | None) -> None:
    """Raises: TooManyChars. A text that the caller would see only in part must not count as read."""
    if max_output_bytes is not None:
        n_bytes = len(output.encode("utf-8", "surrogatepass"))
        if n_bytes > max_output_bytes:
            raise TooManyChars(n_chars=n_bytes, max_chars=max_output_bytes)


def _output(window: Window, texts: Texts) -> str:
    if window.past_end:
        return outputs.past_end_text(window.start_line, window.total_lines or 0)
    return outputs.read_text(window.text, texts.read_reminder)
