"""Settings: a client's `initializationOptions` as they are on the wire, with their defaults."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from fileops.model.diagnostics import LanguageServerSetting, Severity

FreshnessRule = Literal["mtime", "content", "relevant"]
ApprovalMode = Literal["default", "auto_edit", "yolo"]
Ask = Literal["each_edit", "protected", "never"]  # strictest first
RecordMode = Literal["on", "edits", "off"]
AtLeastOne = Annotated[int, Meta(ge=1)]


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of reads."""

    max_lines: AtLeastOne = 2000
    """How many lines a read without a `limit` returns."""
    max_line_chars: AtLeastOne = 2000
    """How many characters of a line are shown; the rest is cut off."""
    max_file_kb: AtLeastOne = 256
    """The largest file, in kB, that may be read as a whole."""
    max_chars: AtLeastOne = 60000
    """How many characters one result may have."""


class MappedFolder(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A folder that is mapped from another host or store."""

    prefix: str
    """Absolute path. Paths below it are on that host."""
    url: str
    """The URL of the mapped folder, such as `ssh://host/path`."""
    options: dict[str, object] | None = None
    """Options for the library that opens the URL."""


class EncodingRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The encoding of some files."""

    glob: str
    """A glob of the files."""
    encoding: str
    """A name that Python knows, such as `cp1252`."""


class OutputTexts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Texts in outputs that a client may replace."""

    read_reminder: str | None = None
    """The block after the lines of a read; empty for none."""
    read_advice: str | None = None
    """What to do about a file or selection that is too large; empty for nothing."""
    notebook_advice: str | None = None
    """What to use for a notebook; empty for nothing."""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`initializationOptions`: what a client chooses for its connection. docs/PROTOCOL.md has the defaults."""

    freshness: FreshnessRule = "mtime"
    """When a file counts as changed since it was read: by its stamp, by its content, or if the change affects the edit.
    """
    confine: Literal["edits", "all", "off"] = "edits"
    """What is confined to the workspace folders and `roots`."""
    roots: tuple[str, ...] = ()
    """Absolute paths of folders beside the workspace folders."""
    approval_mode: ApprovalMode = "default"
    """How often the user is asked about edits."""
    approval_timeout_s: Annotated[float, Meta(gt=0)] = 600.0
    """How many seconds a question to the user waits."""
    fill_empty_files: bool = False
    """Whether an edit with an empty `old_string` may fill an empty file."""
    notebooks: Literal["cells", "refuse", "text"] = "cells"
    """Whether notebooks are read and edited by cells, read as text and not edited, or read and edited as text."""
    images: Literal["attach", "refuse"] = "attach"
    """Whether reads of images attach them, or are refused."""
    correction: bool = False
    """Whether the client's model is asked to correct a text that was not found."""
    correction_timeout_s: Annotated[float, Meta(gt=0)] = 60.0
    """How many seconds such a question waits."""
    processors: tuple[str, ...] = ()
    """Names of installed processors, in the order in which they run."""
    validators: tuple[str, ...] = ()
    """Names of installed validators, all of which must accept a text."""
    notices: Literal["off", "details", "output"] = "off"
    """Whether results say what others changed, and where."""
    suggestions: Literal["off", "details", "output"] | None = None
    """What is added to a failed edit."""
    diagnostics: Literal["off", "details", "output"] = "off"
    """Whether results say which problems an edit introduced and resolved, and where."""
    diagnostics_wait_s: Annotated[float, Meta(ge=0, le=30)] = 2.0
    """How many seconds the answer to an edit waits for its problems."""
    diagnostics_severity: Severity = "warning"
    """The mildest problems that are reported."""
    language_servers: tuple[LanguageServerSetting, ...] = ()
    """Language servers that the daemon may start, at most 8."""
    format: Literal["off", "changed"] = "off"
    """Whether a language server formats the lines that an edit changes."""
    limits: Limits = Limits()
    """Limits of reads."""
    texts: OutputTexts = OutputTexts()
    """Texts of outputs."""
    approval_fallback: Literal["none", "message"] | None = None
    """How a client without `fileops/confirmEdit` is asked."""
    ask: Ask | None = None
    """In a shared daemon: the value of `fileops/ask` in this editor's folders until a person sets it."""
    review_grace_s: Annotated[float, Meta(ge=0, le=600)] = 30.0
    """In a shared daemon: how many seconds a review waits for another view after the last one has left."""
    keep_committed: bool = True
    """In a shared daemon: whether what is committed, or staged as it is, counts as kept."""
    history: Literal["memory", "persistent"] | None = None
    """Whether applied edits are kept after the daemon's end. `null`: in a shared daemon that records changes."""
    record: RecordMode | None = None
    """In a shared daemon: what its record contains: every change, only edits through the daemon, or nothing."""
    record_titles: bool | None = None
    """Whether turns in the record have the beginnings of prompts as titles."""
    code_lens: bool = False
    """Whether agents' edits get code lenses."""
    filesystems: tuple[MappedFolder, ...] | None = None
    """Folders that are mapped from other hosts."""
    bash: bool = False
    """Whether `fileops/bash` is served."""
    encodings: tuple[EncodingRule, ...] | None = None
    """Encodings of files; the first glob that matches counts."""
    unreadable: tuple[str, ...] = ()
    """Globs of files that agents must not read."""

    # The default is None if it depends on the daemon or the client.

    @property
    def shows_lines(self) -> bool:
        """Whether a refused edit is answered with lines that count as read.

        A client that has not asked for suggestions may not know them, and would not pass the lines on.
        """
        return self.suggestions not in {None, "off"}
