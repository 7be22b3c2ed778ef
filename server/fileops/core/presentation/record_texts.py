"""What the record keeps of a prompt and of a command line: a title and a label, and nothing else.

The hook makes them, so that nothing else reaches the daemon. This module therefore imports only the standard library.
"""

import re
from itertools import dropwhile

MAX_TITLE_CHARS = 60
MAX_LABEL_CHARS = 60
_MAX_LINE_CHARS = 20_000  # of a command line that is parsed; it may contain a whole file
_GIT = re.compile(r"(?<![\w.@-])git(?![\w.@-])")
# Shell builtins that prepare a command and do not name it.
_PREPARING = {"cd", "export", "set", "source", "echo"}
# Programs whose first argument is a text, not a name.
_TAKES_TEXT = {"ag", "awk", "egrep", "fgrep", "grep", "jq", "perl", "printf", "rg", "sed"}
# Words of the shell's grammar that stand before a command, and those that end one.
_BEFORE = {"if", "then", "elif", "else", "while", "until", "do", "time", "!"}
_CLOSING = {"fi", "done", "esac", "}"}
_AND, _MORE = "; ", "; …"
_NAME = re.compile(r"[\w.+/@~-]{1,60}")
_FILE = re.compile(r"[\w-]\.[A-Za-z][A-Za-z0-9]{0,4}$")
# Prefixes of well-known tokens, and long words of digits and letters.
_RANDOM = re.compile(
    r"(?:sk-|pk-|gh[a-z]_|github_pat_|glpat-|hvs\.|xox|AKIA|ASIA|eyJ)|(?=\S*[0-9])(?=\S*[A-Za-z])[A-Za-z0-9_+=-]{16,}$"
)
# Base64 contains slashes, as paths do. It is long, has letters of both cases and a digit, and none of the other
# characters of names. A path of that length almost always has a dot, a hyphen or an underscore.
_BASE64 = re.compile(r"(?=\S*[0-9])(?=\S*[a-z])(?=\S*[A-Z])[A-Za-z0-9+/]{24,}={0,2}$")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#@]*@)?([A-Za-z0-9.-]+(?::[0-9]+)?)(?=[/?#]|$)")

# A shell line in the terms of POSIX (XCU 2.3). At each place exactly one alternative matches, decided by its first
# characters; an unclosed quote matches the last.
_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r]|\\\n)+)
      | (?P<comment>\#[^\n]*)
      | (?P<redirection>\d*&?[<>]+[&|]?-?[ \t]*)
      | (?P<end>[;&|()\n]+)
      | (?P<word>(?:[^\s;&|()<>'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_QUOTING = re.compile(r"\\(.)|['\"]", re.DOTALL)


def title_of(prompt: str) -> str | None:
    """Return the first line of a prompt, as a list of turns shows it; None without text."""
    lines = prompt.strip().splitlines()
    return _make_printable(lines[0])[:MAX_TITLE_CHARS] if lines else None


def command_of(line: str) -> str:
    """Return a command line's label: each program that does more than prepare, with its argument.

    Without such a program the label is the first program alone, and "" if there is none. An argument that may be a
    secret is left out, see `_find_named_argument`. The label of a label is the label itself.
    """
    named: dict[str, None] = {}
    first = ""
    for program, *arguments in _parts(line[:_MAX_LINE_CHARS]):
        name = program.rpartition("/")[2]
        first = first or name
        if name not in _PREPARING:
            argument = None if name in _TAKES_TEXT else _find_named_argument(arguments)
            named[_make_printable(name if argument is None else f"{name} {argument}")[:MAX_LABEL_CHARS]] = None
    return _join(list(named)) if named else _make_printable(first)[:MAX_LABEL_CHARS]


def _join(parts: "list[str]") -> str:
    """Return as many of the parts as fit into a label."""
    label = parts[0]
    for number, part in enumerate(parts[1:], 2):
        n_after = 0 if number == len(parts) else len(_MORE)
        if len(label) + len(_AND) + len(part) + n_after > MAX_LABEL_CHARS:
            return f"{label}{_MORE}" if len(label) + len(_MORE) <= MAX_LABEL_CHARS else label
        label = f"{label}{_AND}{part}"
    return label


def _find_named_argument(arguments: "list[str]") -> "str | None":
    """Return the first argument that is not an option, if it can only be a name: of a subcommand, a file, or a host.

    Passwords and tokens are values of options (`curl -u`), assignments, parts of URLs, or look like neither a word nor
    a path. So a word after an option counts only if it ends like a file name, and of a URL only the host is shown.
    """
    for at, argument in enumerate(arguments):
        if argument.startswith("-"):
            continue
        if _NAME.fullmatch(argument) and not _is_secret(argument):
            is_value = at > 0 and arguments[at - 1].startswith("-")
            return argument if _FILE.search(argument) or not is_value else None
        break
    urls = (_URL.match(argument) for argument in arguments)
    return next((f"{url[1]}://{url[2]}" for url in urls if url is not None), None)


def _is_secret(word: str) -> bool:
    """Return whether a word may be a token or a key, as a whole or in one of its parts."""
    return _BASE64.match(word) is not None or any(map(_RANDOM.match, (word, *word.split("/"))))


def does_name_git(line: str) -> bool:
    """Return whether a command line names git, in any place of it: in a loop, a quoted script, or after `sudo`."""
    return _GIT.search(line) is not None


def label_of(session_label: str, command: str) -> str:
    """Return the label of a session's command. Args: command: the command line's label."""
    return (f"{session_label} · {command}" if command else session_label)[:MAX_LABEL_CHARS].rstrip()


def _parts(line: str) -> "list[list[str]]":
    """Return the words of each part between `&&`, `||`, `;`, `|` and line ends, from its program on. None is empty."""
    parts: list[list[str]] = [[]]
    is_target = False  # the next word is the target of a redirection, not an argument
    has_document = False  # the next lines are a here-document (XCU 2.7.4)
    for token in _TOKEN.finditer(line):
        match token.lastgroup:
            case "end":
                if has_document and "\n" in token[0]:
                    break
                parts.append([])
                is_target = False
            case "redirection":
                is_target = True
                has_document = has_document or "<<" in token[0]
            case "word":
                word = _QUOTING.sub(r"\1", token[0])
                is_first = not parts[-1]
                if is_first:
                    word = word.lstrip("{")
                if word and not is_target and not (is_first and _ASSIGNMENT.match(word)):
                    parts[-1].append(word)
                is_target = False
            case _:
                pass
    commands = [list(dropwhile(_BEFORE.__contains__, part)) for part in parts]
    return [command for command in commands if command and command[0] not in _CLOSING]


def _make_printable(text: str) -> str:
    """Return one line without characters that control a terminal."""
    return "".join(character if character.isprintable() else " " for character in " ".join(text.split()))
