"""What of a diff is on the screen."""

from fileops.terminal.lines import DiffLine


async def test_change_under_the_cursor_is_shown_from_its_first_line() -> None:
    """A long one would else be shown from somewhere below it."""
    from textual.app import App  # here: only the worker that runs this test imports Textual

    from fileops.terminal.widgets import DiffLines

    context = [DiffLine(" ", f"context {n}", None, n) for n in range(1, 41)]
    added = [DiffLine("+", f"added {n}", "1", n) for n in range(41, 81)]
    app = App[None]()
    async with app.run_test(size=(60, 20)) as pilot:
        widget = DiffLines(id="diff")
        await app.mount(widget)
        widget.show_diff([*context, *added, *context], at="1")
        await pilot.pause()
        shown = [widget.render_line(y).text.rstrip() for y in range(widget.size.height)]
    assert "41 > +added 41" in shown
    assert "40    context 40" in shown
