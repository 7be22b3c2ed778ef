"""One read in a worker thread: find the file, stream the window, and report what the read shows of it.

Owns the order of a read's checks. What it shows is recorded once it was sent (see `service/fileops.py`). Knows nothing
of the wire, the event loop or other reads.
"""

from msgspec import Struct, field
from msgspec.structs import replace

from fileops.concurrency.cancellation import CancelToken
from fileops.core import text
from fileops.core.notebook.cell_page import MAX_IMAGES, images_of, page_of
from fileops.core.notebook.cell_plan import cell_of
from fileops.core.notebook.cells import MAX_BYTES as MAX_NOTEBOOK_BYTES
from fileops.core.notebook.cells import Notebook, is_notebook_path, parse
from fileops.core.notebook.known_cells import cells_of_read
from fileops.core.presentation import outputs
from fileops.core.presentation.failures import failure_text
from fileops.core.presentation.notebook_texts import not_cells_text
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
    NotebookInvalid,
    TooLarge,
    TooManyChars,
)
from fileops.model.files import NewlineStyle, ReadProof, Stamp, TextFormat
from fileops.model.notebooks import CellsPage
from fileops.model.requests import ReadRequest
from fileops.model.results import ImageContent, ReadResult, Window
from fileops.model.settings import OutputTexts, Settings
from fileops.ports import ContentStream, FileSystem, ImageDetector
from fileops.service.paths import other_form, with_canonical_path
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
            return _fail(request, error, self.settings.texts)

    def read_cached(self, request: ReadRequest, roots: Roots | None) -> ReadResult | None:
        """Read on the event loop if there is nothing to wait for; otherwise return None, without any effect."""
        path = request.file_path
        stream = self.fs.try_open_cached(path)
        if stream is None or is_notebook_path(path):
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
                return _fail(request, error, self.settings.texts)

    def _read_canonical(self, canonical: str, request: ReadRequest, token: CancelToken) -> ReadResult:
        try:
            with self.fs.open(canonical) as stream:
                return self._read_stream(canonical, stream, stream.read(CHUNK_BYTES), request, token)
        except FileMissing as error:
            self.freshness.note_missing(request.session_id, canonical)
            error.other_form = other_form(self.fs, canonical)
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
        if is_notebook_path(canonical) and stamp.size_bytes <= MAX_NOTEBOOK_BYTES:
            return self._read_notebook(canonical, stream, chunk, fmt, request, token)
        not_cells = None
        if is_notebook_path(canonical):
            not_cells = NotebookInvalid(fault="too_large", reason=f"it has over {MAX_NOTEBOOK_BYTES >> 20} MB")
        if request.cell_id is not None:
            raise not_cells or NotebookInvalid(fault="no_notebook", reason="its name does not end in .ipynb")
        if whole and stamp.size_bytes > limits.max_file_kb * 1024:
            to_read = self.refused_places.lines_in(request.session_id, canonical, stamp)
            raise TooLarge(size_bytes=stamp.size_bytes, max_kb=limits.max_file_kb, to_read=to_read)
        if is_binary:
            raise BinaryFile
        window, digest, content = self._window(stream, chunk, fmt, request, token)
        output = "" if request.raw else self._text_output(window, not_cells)
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
            not_cells=not_cells if self.settings.notebooks == "cells" else None,
        )

    def _text_output(self, window: Window, not_cells: NotebookInvalid | None) -> str:
        """Return the text for the model. not_cells: why the cells of a notebook are not shown."""
        output = _output(window, self.settings.texts)
        if not_cells is None or self.settings.notebooks != "cells":
            return output
        return f"{not_cells_text(not_cells)}\n{output}"

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

    def _read_notebook(
        self,
        canonical: str,
        stream: ContentStream,
        chunk: bytes,
        fmt: TextFormat,
        request: ReadRequest,
        token: CancelToken,
    ) -> ReadResult:
        """Read the cells, or the text if it is asked for, or if the file has a fault.

        The whole file is read, so that it can be recorded what the session knows of each cell. Raises: NotebookInvalid
        (a cell is asked for), CellNotFound, TooLarge, TooManyChars, BinaryFile.
        """
        chunks = list[bytes]()
        while chunk:
            token.check()
            chunks.append(chunk)
            chunk = stream.read(CHUNK_BYTES)
        data = b"".join(chunks)
        self.freshness.keep_bases()  # for the report of others' changes, when an edit is made on the present file
        notebook, fault, page = None, None, None
        try:
            notebook = parse(data)
        except NotebookInvalid as invalid:
            fault = invalid
        if request.cell_id is not None and fault is not None:
            raise fault
        if (
            notebook is not None
            and not request.raw
            and (self.settings.notebooks == "cells" or request.cell_id is not None)
        ):
            page = self._page(notebook, request, is_unsaved=stream.is_unsaved)
            window = _window_of(page, text.newline_style(data, fmt), fmt)
            output = _output(window, self.settings.texts)
        else:
            window = self._text_window(canonical, stream.stamp, data, fmt, request)
            output = "" if request.raw else self._text_output(window, fault)
        _require_fits(output, request.max_output_bytes)
        cells = None
        if notebook is not None:
            shown = {cell.name for cell in notebook.cells if window.is_whole} if page is None else page.shown
            cells = cells_of_read(notebook, shown)
        read_proof = ReadProof(
            session_id=request.session_id,
            given_path=request.file_path,
            path=canonical,
            stamp=stream.stamp,
            taken_ns=stream.taken_ns,
            digest=content_digest(data),
            source=stream.source,
            version=stream.version,
            content=data if len(data) <= MAX_BASE_BYTES else None,
            is_whole=window.is_whole,
            cells=cells,
        )
        return ReadResult(
            output=output,
            window=window,
            format=fmt,
            size_bytes=stream.stamp.size_bytes,
            mtime_ns=stream.stamp.mtime_ns,
            source=stream.source,
            document_version=stream.version,
            encoding=stream.encoding,
            is_raw=request.raw,
            read_proof=read_proof,
            page=page,
            pictures=() if page is None or request.outputs != "full" else self._pictures(notebook, request),
            not_cells=fault if self.settings.notebooks == "cells" else None,
        )

    def _page(self, notebook: Notebook, request: ReadRequest, *, is_unsaved: bool) -> CellsPage:
        """Raises: CellNotFound, TooManyChars."""
        limits = self.settings.limits
        page = page_of(
            notebook,
            request.offset,
            request.limit,
            limits,
            cell=None if request.cell_id is None else cell_of(notebook, request.cell_id),
            outputs=request.outputs,
            is_unsaved=is_unsaved,
        )
        if page.n_chars > limits.max_chars:
            raise TooManyChars(n_chars=page.n_chars, max_chars=limits.max_chars)
        return page

    def _text_window(self, canonical: str, stamp: Stamp, data: bytes, fmt: TextFormat, request: ReadRequest) -> Window:
        """Raises: TooLarge, TooManyChars, BinaryFile."""
        if request.offset is None and request.limit is None and len(data) > self.settings.limits.max_file_kb * 1024:
            to_read = self.refused_places.lines_in(request.session_id, canonical, stamp)
            raise TooLarge(size_bytes=len(data), max_kb=self.settings.limits.max_file_kb, to_read=to_read)
        if text.is_binary(data, fmt):
            raise BinaryFile
        reader = self._reader(request, fmt)
        reader.feed(data)
        window = reader.finish()
        if window.total_lines is None:
            window = replace(window, total_lines=text.count_lines(data, fmt))
        return window

    def _pictures(self, notebook: Notebook | None, request: ReadRequest) -> tuple[ImageContent, ...]:
        """Return the images of the one cell that is read; those that cannot be shown are left out."""
        if notebook is None or request.cell_id is None or self.settings.images != "attach":
            return ()
        pictures = list[ImageContent]()
        for data in images_of(cell_of(notebook, request.cell_id)):
            file_type = self.detector.detect("", data)
            try:
                if file_type is not None and len(data) <= images.MAX_FILE_BYTES:
                    pictures.append(images.picture_of(data, file_type))
            except ImageUnreadable:
                continue
            if len(pictures) == MAX_IMAGES:
                break
        return tuple(pictures)

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


def _window_of(page: CellsPage, newline: NewlineStyle | None, fmt: TextFormat) -> Window:
    return Window(
        text=page.text,
        start_line=page.start_line,
        end_line=page.end_line,
        total_lines=page.total_lines,
        next_offset=page.next_offset,
        n_lines_hidden=0,
        n_chars=page.n_chars,
        newline=newline,
        format=fmt,
        past_end=page.start_line > max(1, page.total_lines),
        at_end=page.next_offset is None,
        is_whole=page.is_whole,
    )


def _fail(request: ReadRequest, error: FileOpsError, texts: OutputTexts) -> ReadResult:
    return ReadResult(output=failure_text(error, "read", request.file_path, texts), error=error)


def _require_fits(output: str, max_output_bytes: int | None) -> None:
    """Raises: TooManyChars. A text that the caller would see only in part must not count as read."""
    if max_output_bytes is not None:
        n_bytes = len(output.encode("utf-8", "surrogatepass"))
        if n_bytes > max_output_bytes:
            raise TooManyChars(n_chars=n_bytes, max_chars=max_output_bytes)


def _output(window: Window, texts: OutputTexts) -> str:
    if window.past_end:
        return outputs.past_end_text(window.start_line, window.total_lines or 0)
    return outputs.read_text(window.text, texts.read_reminder)
