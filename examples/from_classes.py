"""What the classes EditTool, FileEditTool and MultiEditTool and their listeners did, by the Python client.

    python from_classes.py FOLDER

docs/guide/from-classes.md says what each call was before.
"""

import os
import sys

from fileops_client import Answer, EventContext, Question
from fileops_client.sync import FileOpsClient


def show_event(context: EventContext) -> None:
    print(f"{context.name}: {os.path.basename(context.data['file_path'])}")


def confirm(question: Question) -> Answer:
    """Decide as a person would who was shown `question.diff`."""
    print(question.title)
    return Answer(outcome="proceed_once")


def main(folder: str) -> None:
    path = os.path.join(folder, "shop.py")
    with FileOpsClient.in_process(root=folder, confirm_edit=confirm) as files:
        files.add_event_listener("file:edited", show_event)
        files.add_event_listener("file:conflict", show_event)

        created = files.edit(path, "", "bread = 2\ncheese = 1\n")
        print(created.output)

        preview = files.edit(path, "bread = 2", "bread = 3", dry_run=True, include_texts=True)
        print(preview.details.get("proposed_text"), end="")

        edited = files.multi_edit(path, [("bread = 2", "bread = 3"), ("cheese = 1", "cheese = 0")])
        print(edited.output)

        failed = files.edit(path, "milk = 1", "milk = 2")
        print(failed.ok, failed.error.code if failed.error else None)

        with open(path, "a", encoding="utf-8") as file:  # another program
            file.write("tea = 5\n")
        stale = files.edit(path, "bread = 3", "bread = 4")
        print(stale.error.code if stale.error else None)

        files.read(path)
        print(files.edit(path, "bread = 3", "bread = 4").ok)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
