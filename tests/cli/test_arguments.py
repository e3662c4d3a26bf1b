import shlex

import pytest

from voxaudit.audits.audit import AUDITS
from voxaudit.cli.arguments import names, recognizer_list
from voxaudit.cli.main import COMMANDS, _parser, main
from voxaudit.recognize.settings import split_spec


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("moonshine", ["moonshine"]),
        ("moonshine, pocketsphinx,", ["moonshine", "pocketsphinx"]),
        ("moonshine:model=base,threads=2,pocketsphinx", ["moonshine:model=base,threads=2", "pocketsphinx"]),
        ('command:"my-asr -x a,b {audio}",moonshine', ['command:"my-asr -x a,b {audio}"', "moonshine"]),
        ("a.py:load,b.py:load", ["a.py:load", "b.py:load"]),
        ("", []),
        (None, []),
    ],
)
def test_recognizers_of_a_list_keep_their_settings(text, found):
    assert list(recognizer_list(text)) == found


def test_what_is_split_is_what_the_recognizer_reads():
    one, two = recognizer_list('moonshine:model=base, threads=2, command:"a,b {audio}", timeout=3')
    assert split_spec(one) == ("moonshine", "", {"model": "base", "threads": "2"})
    assert split_spec(two) == ("command", "a,b {audio}", {"timeout": "3"})


def test_columns_are_split_at_every_comma():
    assert names(" gender,,age ") == ("gender", "age")


@pytest.mark.parametrize(
    "command",
    [
        ["disparity", "scores.csv", "--attribute", "gender"],
        ["compare", "a", "b"],
        ["power", "scores.csv"],
        ["stutter", "corpus", "--out", "out"],
        ["breaking", "corpus"],
        ["sequential", "run"],
        ["attack", "corpus"],
        ["perturb", "in.wav", "out.wav", "gain:1"],
        ["study", "create", "corpus", "--out", "out"],
    ],
)
def test_a_seed_below_0_is_refused_before_anything_is_read(command, capsys):
    assert main([*command, "--seed", "-1"]) == 2
    assert "argument --seed: must be at least 0, not -1" in capsys.readouterr().err


def parsers(chosen):
    """Yield the parser of a command and those of its actions."""
    todo = [_parser(chosen)._subparsers._group_actions[0].choices[chosen]]
    while todo:
        parser = todo.pop()
        yield parser
        if parser._subparsers is not None:
            todo += parser._subparsers._group_actions[0].choices.values()


EVERY = [*COMMANDS, *AUDITS.names()]
TAKES_SEVERAL = {"--attribute": "disparity takes several at a time and corrects for them together"}
"""Flags whose values are not written alike in all commands, and why."""


def test_a_flag_means_the_same_in_every_command():
    """What stands in brackets behind the meaning, a default or a remark, is the command's own."""
    meanings = {}
    for command in EVERY:
        for parser in parsers(command):
            for action in parser._actions:
                for flag in action.option_strings:
                    value = None if flag in TAKES_SEVERAL else action.metavar or action.choices
                    meaning = (action.help.partition(" (")[0], value and tuple(value))
                    meanings.setdefault(flag, {}).setdefault(meaning, []).append(parser.prog)
    assert len(meanings) > 100
    assert {flag: found for flag, found in meanings.items() if len(found) > 1} == {}


@pytest.mark.parametrize("command", [None, *EVERY])
def test_help_fits_a_terminal_of_80_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for parser in [_parser(None)] if command is None else parsers(command):
        lines = parser.format_help().splitlines()
        assert [line for line in lines if len(line) > 80] == []
        assert not any("?." in line for line in lines)


@pytest.mark.parametrize("command", EVERY)
def test_an_example_is_one_that_a_shell_takes(command):
    """An example that is continued on a further line is still the command that it was, and parses."""
    for parser in parsers(command):
        text = parser.format_help().partition("example:\n")[2].replace(" \\\n", " ")
        for line in (line for line in text.splitlines() if line.startswith("  voxaudit")):
            words = shlex.split(line)
            assert _parser(words[1]).parse_args(words[1:]).command == words[1]
