"""What is kept of prompts and command lines."""

import pytest

from fileops.core.presentation.record_texts import MAX_LABEL_CHARS, command_of, does_name_git, label_of, title_of


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("python fix.py", "python fix.py"),
        ("/usr/bin/python3 -u fix.py --all", "python3 fix.py"),
        ("cd /p && npm run build", "npm run"),
        ("cd /p; export A=1\nset -e\n. x.sh", ". x.sh"),
        ("TOKEN=secret LANG=C curl https://example.org", "curl https://example.org"),
        ("cat a.txt | sort -r | uniq", "cat a.txt; sort; uniq"),
        ("echo start || make", "make"),
        ("source .venv/bin/activate && pytest tests", "pytest tests"),
        ("make", "make"),
        ("make -j8", "make"),
        ("ls -la && rm x", "ls; rm x"),
        ("git commit -m 'fix: a; b && c'", "git commit"),
        ("grep 'a; b' file", "grep"),
        ('python -c "print(1)"', "python"),
        ("cat > notes.txt <<'EOF'\nhello\nEOF", "cat"),
        ("make 2>&1 all", "make all"),
        ("make >log 2>&1 all", "make all"),
        ("# run the tests\npytest tests", "pytest tests"),
        ("(cd /p && make all)", "make all"),
        ("{ make all; }", "make all"),
        ("sed -i s/a/b/ f; git mv f g && chmod +x g; sed -i s/c/d/ g", "sed; git mv; chmod +x"),
        ("if test -f x; then make all; else make some; fi", "test; make all; make some"),
        ("for f in *.py; do black $f; done", "for f; black"),
        ("while ! make; do sleep 1; done", "make; sleep 1"),
        ("; ".join(f"program{n} run" for n in range(9)), "program0 run; program1 run; program2 run; program3 run; …"),
        ("x" * 59 + " && make", "x" * 59),
        ("sed -i s/a/b/ \\\n  file", "sed"),
        ("npm start &", "npm start"),
        ("echo hello > f.txt", "echo"),
        ("A=1", ""),
        ("", ""),
        ("'", ""),
        ("./run\x1b[31m.sh", "run [31m.sh"),
    ],
)
def test_command_is_called_by_its_programs_and_their_first_arguments(line: str, command: str) -> None:
    assert command_of(line) == command


@pytest.mark.parametrize(
    "label", ["sed; git mv; chmod +x", "for f; black", "a run; b run; …", "curl https://example.org"]
)
def test_label_of_a_label_is_the_label(label: str) -> None:
    """A hook and the daemon both shorten it."""
    assert command_of(label) == label


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ('curl -H "Authorization: Bearer SECRET" https://example.org/x', "curl https://example.org"),
        ("curl -u SECRET:SECRET example.org", "curl"),
        ("curl 'https://user:SECRET@example.org/SECRET?token=SECRET'", "curl https://example.org"),
        ("psql postgres://me:SECRET@db.example.org:5432/app", "psql postgres://db.example.org:5432"),
        ("mysql -p SECRET app", "mysql"),
        ("sshpass -p SECRET ssh host", "sshpass"),
        ("tool --password SECRET run", "tool"),
        ("env TOKEN=SECRET make", "env"),
        ("tool TOKEN=SECRET", "tool"),
        ("tool 'a SECRET text'", "tool"),
        ("printf SECRET > .env", "printf"),
        ("grep -r SECRET .", "grep"),
        ("sed -i s/old/SECRET/ .env", "sed"),
        ("perl -e 'SECRET'", "perl"),
        ("login sk-SECRET", "login"),
        ("login ghp_SECRET", "login"),
        ("login a1b2c3SECRETd4e5f6", "login"),
        ("login wJalrXUtnFEMI/K7MDENG/bPxRfiCYSECRETKEY", "login"),
        ("login +wJalrXUtnFEMIK7MDENG/bPxRfiCYSECRETKEY==", "login"),
        ("get secrets/sk-SECRET", "get"),
        ("tool eyJhbGciOiJIUzI1NiJ9.SECRET.sig", "tool"),
        ("echo <<EOF\nSECRET line\nEOF", "echo"),
        ("curl http://[SECRET", "curl"),
    ],
)
def test_secret_in_a_command_line_is_not_in_what_it_is_called(line: str, command: str) -> None:
    """R-TURN-6."""
    assert command_of(line) == command
    assert "SECRET" not in command_of(line)
    assert command_of(command) == command  # a hook and the daemon both shorten it


def test_label_names_the_session_and_the_command_and_is_short() -> None:
    assert label_of("Codex", command_of("cd x && python fix.py")) == "Codex · python fix.py"
    assert label_of("Codex", "") == "Codex"
    assert len(label_of("Claude Code 2", command_of("cat " + "x" * 60))) == MAX_LABEL_CHARS


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("fix the login test", "fix the login test"),
        ("fix the login test\nand more", "fix the login test"),
        ("\n  fix\tit \n", "fix it"),
        ("x" * 61, "x" * 60),
        ("a\x1b[0mb", "a [0mb"),
        (" \n ", None),
        ("", None),
    ],
)
def test_title_is_the_beginning_of_the_first_line(prompt: str, title: str | None) -> None:
    assert title_of(prompt) == title


@pytest.mark.parametrize("character", ["'", '"', "\\", "<", "a'", 'a"', "$(", "0", "&", "\n"])
def test_command_of_a_hostile_line_is_found_in_bounded_time(character: str) -> None:
    assert len(command_of(character * 1_000_000)) <= MAX_LABEL_CHARS


@pytest.mark.parametrize(
    ("line", "is_named"),
    [
        ("git rebase main", True),
        ("cd sub && /usr/bin/git merge other", True),
        ("sh -c 'make && git stash'", True),
        ("for b in a b; do git checkout $b; make; done", True),
        ("make release", False),
        ("cat .gitignore .git/config", False),
        ("pip install git-review", False),
        ("scp git@example.org:x y", False),
        ("python digit.py", False),
    ],
)
def test_command_line_names_git_as_a_word(line: str, *, is_named: bool) -> None:
    assert does_name_git(line) == is_named
