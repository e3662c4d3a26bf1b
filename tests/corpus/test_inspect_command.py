"""`voxaudit inspect`: what it prints, its JSON, its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from voxaudit.cli.main import main

MANIFEST = (
    "path,sentence,client_id,gender,city,duration\n"
    "a.wav,yes,c1,female,x,1800\nb.wav,no,c1,female,,1800\nc.wav,oh,c2,male,x,1800\n"
)


@pytest.fixture
def manifest(wavs):
    root = wavs("a.wav", "b.wav", "c.wav")
    (root / "m.csv").write_text(MANIFEST)
    return root / "m.csv"


def test_json_is_one_document(manifest, capsys):
    assert main(["inspect", str(manifest), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {
        "path": str(manifest),
        "name": "m",
        "format": "manifest",
        "usable": True,
        "utterances": 3,
        "skipped": 0,
        "speakers": 2,
        "seconds": 5400.0,
        "columns": {"audio": "path", "speaker": "client_id", "text": "sentence", "duration": "duration"},
        "attributes": {
            "gender": {
                "count": 2,
                "missing": 0,
                "groups": [
                    {"group": "female", "utterances": 2, "speakers": 1},
                    {"group": "male", "utterances": 1, "speakers": 1},
                ],
            },
            "city": {"count": 1, "missing": 1, "groups": [{"group": "x", "utterances": 2, "speakers": 2}]},
        },
        "problems": [],
    }


def test_the_table_for_people(manifest, capsys):
    assert main(["inspect", str(manifest)]) == 0
    lines = capsys.readouterr().out.splitlines()
    words = [line.split() for line in lines]
    assert ["utterances", "3"] in words
    assert ["speakers", "2"] in words
    assert ["hours", "1.5"] in words
    assert ["gender", "female", "2", "1"] in words
    assert ["male", "1", "1"] in words
    assert ["(not", "given)", "1"] in words
    assert "No problems found." in lines


def test_markup_in_a_corpus_is_only_text(wavs, capsys):
    root = wavs("a.wav")
    (root / "m.csv").write_text("path,[red]name\na.wav,[/bold] [link=x]\n")
    assert main(["inspect", str(root / "m.csv")]) == 0
    out = capsys.readouterr().out
    assert "[red]name" in out
    assert "[/bold] [link=x]" in out


def test_fatal_problems_are_all_shown_and_exit_2(manifest, capsys):
    manifest.write_text(MANIFEST + "no.wav,x,c2,male,x,1\na.wav,x,c2,male,x,-1\n")
    assert main(["inspect", str(manifest)]) == 2
    out = capsys.readouterr().out
    assert "problem  1 audio file does not exist (row 5: 'no.wav'" in out
    assert "problem  1 duration is not a number of seconds above 0 (row 6: '-1')" in out
    assert "problem  1 duplicate id (rows 2 and 6: 'a')" in out
    assert "--skip-bad-rows" in out
    assert "3 (2 bad rows not counted)" in out
    assert main(["inspect", str(manifest), "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert not document["usable"]
    assert {(entry["kind"], entry["fatal"]) for entry in document["problems"]} == {
        ("audio_not_found", True),
        ("bad_duration", True),
        ("duplicate_id", True),
    }
    assert main(["inspect", str(manifest), "--skip-bad-rows", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["usable"], document["utterances"], document["skipped"]) == (True, 3, 2)


def test_nothing_left_is_not_usable_even_when_skipping(manifest, capsys):
    manifest.write_text("path\nno.wav\n")
    assert main(["inspect", str(manifest), "--skip-bad-rows"]) == 2
    assert "problem  no good row is left" in capsys.readouterr().out


def test_columns_and_format_are_passed_on(manifest, capsys):
    options = ["--columns", "text=city,place=gender", "--columns", "speaker=sentence", "--format", "manifest"]
    assert main(["inspect", str(manifest), "--json", *options]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["columns"]["text"] == "city"
    assert document["speakers"] == 3
    assert list(document["attributes"]) == ["client_id", "place"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--columns", "text=sentense"], "Did you mean: sentence?"),
        (["--columns", "text"], "NAME=COLUMN"),
        (["--format", "kaldy"], "Did you mean: kaldi?"),
        (["--format", "kaldi"], "no wav.scp"),
    ],
)
def test_what_cannot_be_read_is_one_line(manifest, capsys, options, message):
    assert main(["inspect", str(manifest), "--json", *options]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("voxaudit: error: ")
    assert err.count("\n") == 1
    assert message in err


def test_speakers_are_not_counted_where_none_are_known(wavs, capsys):
    root = wavs("a.wav")
    (root / "m.csv").write_text("path,gender\na.wav,f\n")
    assert main(["inspect", str(root / "m.csv"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["speakers"] is None
    assert document["seconds"] is None
    assert document["attributes"]["gender"]["groups"] == [{"group": "f", "utterances": 1, "speakers": None}]


def test_many_groups_are_cut_short(wavs, capsys):
    root = wavs("a.wav")
    rows = "".join(f"{n},a.wav,{n % 250}\n" for n in range(500))
    (root / "m.csv").write_text("id,path,shoe\n" + rows)
    assert main(["inspect", str(root / "m.csv")]) == 0
    assert "... 242 more groups" in capsys.readouterr().out
    assert main(["inspect", str(root / "m.csv"), "--json"]) == 0
    shoe = json.loads(capsys.readouterr().out)["attributes"]["shoe"]
    assert (shoe["count"], len(shoe["groups"])) == (250, 100)


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from voxaudit.cli.main import main\n"
        "try: main(['inspect', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'polars', 'numpy', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
