"""Tables on the terminal: words stay whole, titles stay lines, and widths are those asked for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.cli.main import main
from voxaudit.render.terminal import _folded, _parts, _widths, print_table

HEAD = ("recognizer", "attribute", "group", "reference", "where", "LWERR", "verdict")
ROW = (
    "moonshine",
    "accent",
    "accented",
    "native",
    "environmental effects",
    "+1.2 (+0.5 to +1.8)",
    "gap shown",
)


def lines_of(capsys, monkeypatch, columns, title="", head=HEAD, rows=(ROW,)):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    print_table(title, head, rows)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("columns", ["100", "80", "20", "1"])
def test_words_are_never_broken(capsys, monkeypatch, columns):
    lines = lines_of(capsys, monkeypatch, columns)
    words = " ".join(lines).split()
    for word in " ".join((*HEAD, *ROW)).split():
        assert word in words
    # The least is 10 + 9 + 8 + 9 + 13 + 14 + 7 characters and three for each column's borders, and one.
    assert max(map(len, lines)) <= max(int(columns), 70 + 22)


@pytest.mark.parametrize(
    ("columns", "width"), [(None, 160), ("0", 160), ("wide", 160), ("90", 90), ("300", 300)]
)
def test_columns_is_honored_where_there_is_no_terminal(capsys, monkeypatch, columns, width):
    words = "so many short words that no line can hold them all " * 10
    lines = lines_of(capsys, monkeypatch, columns, head=("text",), rows=[(words,)])
    assert width - 6 < max(map(len, lines)) <= width


def test_a_title_is_one_line_however_narrow_the_table(capsys, monkeypatch):
    title = "word " * 50 + "end"
    assert lines_of(capsys, monkeypatch, "80", title, ("a",), [("1",)])[0].rstrip() == title


def test_only_a_very_long_word_is_folded_and_after_its_signs():
    name = "gaussian_noise:snr=12.5,with_a_long_tail=3"
    assert _parts(name) == ["gaussian_", "noise:", "snr=12.5,", "with_", "a_", "long_", "tail=3"]
    assert _parts("noise:snr=12.5 or so") == ["noise:snr=12.5 ", "or ", "so"]
    assert _folded(name, 16) == "gaussian_noise:\nsnr=12.5,with_a_\nlong_tail=3"


@given(st.lists(st.text("ab_:, ", max_size=60), min_size=1, max_size=4), st.integers(1, 80))
def test_folding_keeps_all_but_spaces_and_the_width(texts, room):
    (width,) = _widths([[text] for text in texts], room)
    for text in texts:
        folded = _folded(text, width)
        assert re.sub(r"\s", "", folded) == text.replace(" ", "")
        assert all(len(line) <= width for line in folded.split("\n"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["stutter", "--mixtures", "x"],
            "`voxaudit stutter` has no option --mixtures. Did you mean: --mixture? See `voxaudit stutter --help`",
        ),
        (["list", "suites", "--jsno=1"], "`voxaudit list` has no option --jsno. Did you mean: --json? See"),
        (["study", "analyze", "x", "--zz"], "`voxaudit study analyze` has no option --zz. See"),
        (["list", "suites", "more"], "`voxaudit list` has no argument 'more'. See `voxaudit list --help`"),
        (["--verbose"], "`voxaudit` has no option --verbose. "),
    ],
)
def test_an_unknown_flag_is_one_line_with_a_near_one(capsys, arguments, message):
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"voxaudit: error: {message}")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("(+0.50 to +1.80)", ["(+0.50 to +1.80)"]),
        ("11.5 % (6.9 to 19.3)", ["11.5 % ", "(6.9 to 19.3)"]),
        ("2 speakers to 3", ["2 ", "speakers ", "to ", "3"]),
        ("1.5x faster", ["1.5x ", "faster"]),
        ("no gap shown", ["no ", "gap ", "shown"]),
    ],
)
def test_an_interval_is_not_torn_apart(text: str, parts: list[str]) -> None:
    assert _parts(text) == parts
