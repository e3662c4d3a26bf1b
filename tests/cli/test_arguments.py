import pytest

from voxaudit.cli.arguments import names, recognizer_list
from voxaudit.cli.main import main
from voxaudit.recognize.spec import split_spec


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
    ("command", "says"),
    [
        (["disparity", "scores.csv", "--attribute", "gender"], "0 or more"),
        (["compare", "a", "b"], "0 or more"),
        (["power", "scores.csv"], "0 or more"),
        # Those that hear take the options of a run.
        (["stutter", "corpus", "--out", "out"], "at least 0"),
        (["breaking", "corpus"], "at least 0"),
        (["sequential", "run"], "at least 0"),
        (["attack", "corpus"], "at least 0"),
    ],
)
def test_a_seed_below_0_is_refused_before_anything_is_read(command, says, capsys):
    assert main([*command, "--seed", "-1"]) == 2
    assert f"argument --seed: must be {says}, not -1" in capsys.readouterr().err
