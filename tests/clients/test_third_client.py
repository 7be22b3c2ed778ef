"""The snippets of docs/guide/editors.md: the Emacs client is run as printed, against the real daemon."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from clients.places import program

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "editors.md"

USE = """
(require (quote json))
(let* ((folder (file-name-as-directory (getenv "FILEOPS_TEST_FOLDER")))
       (path (concat folder "demo.txt"))
       (asked nil)
       (connection (fileops-connect folder)))
  (find-file path)
  (fset 'y-or-n-p (lambda (prompt)
    (setq asked prompt)
    (let ((case-fold-search nil)) (not (string-match-p "THREE" prompt)))))
  (princ (json-encode (list :unread (fileops-call connection 'fileops/edit
                                      :file_path path :old_string "two" :new_string "2"))))
  (terpri)
  (fileops-call connection 'fileops/read :file_path path)
  (dolist (word '("two" "three"))
    (princ (json-encode (list :edit (fileops-call connection 'fileops/edit
                                      :file_path path :old_string word :new_string (upcase word)))))
    (terpri))
  (princ (json-encode (list :asked asked)))
  (terpri)
  (with-timeout (20 (error "the buffer was not reloaded"))
    (while (not (string-match-p "TWO" (buffer-string))) (accept-process-output nil 0.05)))
  (princ (json-encode (list :buffer (buffer-string) :modified (if (buffer-modified-p) "yes" "no"))))
  (terpri)
  (jsonrpc-shutdown connection))
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.timeout(120)
def test_emacs_client_reads_edits_asks_and_reloads(tmp_path: Path) -> None:
    emacs = program("emacs")
    (tmp_path / "demo.txt").write_text("one\ntwo\nthree\n")
    script = tmp_path / "client.el"
    script.write_text(blocks("elisp")[0] + USE, encoding="utf-8")
    daemon = shutil.which("fileops-server", path=str(Path(sys.executable).parent))
    assert daemon
    done = subprocess.run(
        [emacs, "--batch", "--quick", "--load", str(script)],
        env=os.environ
        | {
            "PATH": f"{Path(daemon).parent}:{os.environ['PATH']}",
            "FILEOPS_TEST_FOLDER": str(tmp_path),
            "HOME": str(tmp_path),
            "LC_ALL": "C.UTF-8",
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    unread, accepted, refused, asked, buffer = (
        json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"
    )
    assert unread["unread"]["error"]["code"] == "not_read"
    assert accepted["edit"]["status"] == "success"
    assert refused["edit"]["error"]["code"] == "rejected"
    assert "+THREE" in asked["asked"]
    assert buffer == {"buffer": "one\nTWO\nthree\n", "modified": "no"}
    assert (tmp_path / "demo.txt").read_text() == "one\nTWO\nthree\n"


def test_configuration_snippets_are_well_formed() -> None:
    (helix,) = blocks("toml")
    assert tomllib.loads(helix)["language-server"]["fileops"]["command"] == "fileops-server"
    (sublime,) = blocks("json")
    assert json.loads(sublime)["clients"]["fileops"]["command"] == ["fileops-server"]
