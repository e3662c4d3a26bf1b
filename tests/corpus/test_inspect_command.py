"""`voxaudit inspect`: what it prints, its JSON, its exit codes."""

from __future__ import annotations

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


def test_json_is_one_document(manifest, asked, capsys):
    tables = asked("inspect", manifest).tables
    assert capsys.readouterr().err == ""
    assert tables["corpus"] == [
        {
            "corpus": "m",
            "path": str(manifest),
            "format": "manifest",
            "usable": True,
            "utterances": 3,
            "left_out": 0,
            "speakers": 2,
            "seconds": 5400.0,
            "hours": 1.5,
            "attributes": 2,
            "length": "1.5 hours",
        }
    ]
    assert {row["column"]: row["name"] for row in tables["columns"]} == {
        "audio": "path",
        "speaker": "client_id",
        "text": "sentence",
        "duration": "duration",
    }
    assert tables["groups"] == [
        {"attribute": "gender", "group": "female", "utterances": 2, "speakers": 1},
        {"attribute": "gender", "group": "male", "utterances": 1, "speakers": 1},
        {"attribute": "city", "group": "x", "utterances": 2, "speakers": 2},
    ]
    assert tables["attributes"] == [
        {"attribute": "gender", "groups": 2, "not_given": 0},
        {"attribute": "city", "groups": 1, "not_given": 1},
    ]
    assert "problems" not in tables


def test_the_table_for_people(manifest, capsys):
    assert main(["inspect", str(manifest)]) == 0
    lines = capsys.readouterr().out.splitlines()
    words = [line.split() for line in lines]
    assert ["m", "manifest", "3", "0", "2", "1.5", "hours"] in words
    assert ["text", "sentence"] in words
    assert ["gender", "female", "2", "1"] in words
    assert ["gender", "male", "1", "1"] in words
    assert ["city", "(not", "given)", "1", "-"] in words
    assert "note: no problems found" in lines


def test_markup_in_a_corpus_is_only_text(wavs, capsys):
    root = wavs("a.wav")
    (root / "m.csv").write_text("path,[red]name\na.wav,[/bold] [link=x]\n")
    assert main(["inspect", str(root / "m.csv")]) == 0
    out = capsys.readouterr().out
    assert "[red]name" in out
    assert "[/bold] [link=x]" in out


def test_fatal_problems_are_all_shown_and_exit_2(manifest, capsys, asked):
    manifest.write_text(MANIFEST + "no.wav,x,c2,male,x,1\na.wav,x,c2,male,x,-1\n")
    assert main(["inspect", str(manifest)]) == 2
    out = capsys.readouterr().out
    assert "problem   1 audio file does not exist (row 5: 'no.wav'" in out
    assert "problem   1 duration is not a number of seconds above 0 (row 6: '-1')" in out
    assert "problem   1 duplicate id (rows 2 and 6: 'a')" in out
    assert "--skip-bad-rows" in out
    tables = asked("inspect", manifest, code=2).tables
    (facts,) = tables["corpus"]
    assert (facts["usable"], facts["utterances"], facts["left_out"]) == (False, 3, 2)
    assert {(entry["kind"], entry["weight"]) for entry in tables["problems"]} == {
        ("audio_not_found", "problem"),
        ("bad_duration", "problem"),
        ("duplicate_id", "problem"),
    }
    (facts,) = asked("inspect", manifest, "--skip-bad-rows").tables["corpus"]
    assert (facts["usable"], facts["utterances"], facts["left_out"]) == (True, 3, 2)


def test_nothing_left_is_not_usable_even_when_skipping(manifest, capsys):
    manifest.write_text("path\nno.wav\n")
    assert main(["inspect", str(manifest), "--skip-bad-rows"]) == 2
    assert "problem   no good row is left" in capsys.readouterr().out


def test_columns_and_format_are_passed_on(manifest, asked):
    options = ["--columns", "text=city,place=gender", "--columns", "speaker=sentence", "--format", "manifest"]
    tables = asked("inspect", manifest, *options).tables
    assert {row["column"]: row["name"] for row in tables["columns"]}["text"] == "city"
    assert tables["corpus"][0]["speakers"] == 3
    assert [row["attribute"] for row in tables["attributes"]] == ["client_id", "place"]


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


def test_speakers_are_not_counted_where_none_are_known(wavs, asked):
    root = wavs("a.wav")
    (root / "m.csv").write_text("path,gender\na.wav,f\n")
    tables = asked("inspect", root / "m.csv").tables
    assert tables["corpus"][0]["speakers"] is None
    assert tables["corpus"][0]["seconds"] is None
    assert tables["groups"] == [{"attribute": "gender", "group": "f", "utterances": 1, "speakers": None}]


def test_many_groups_are_cut_short(wavs, asked, capsys):
    root = wavs("a.wav")
    rows = "".join(f"{n},a.wav,{n % 250}\n" for n in range(500))
    (root / "m.csv").write_text("id,path,shoe\n" + rows)
    assert main(["inspect", str(root / "m.csv")]) == 0
    assert "... 242 more groups" in capsys.readouterr().out
    tables = asked("inspect", root / "m.csv").tables
    assert (tables["attributes"][0]["groups"], len(tables["groups"])) == (250, 100)


def test_of_many_attributes_the_first_are_listed_and_the_rest_counted(wavs, asked, capsys):
    extra = [f"c{n}" for n in range(40)]
    root = wavs("a.wav")
    (root / "m.csv").write_text(",".join(["path", *extra]) + "\na.wav" + ",x" * 40 + "\n")
    assert main(["inspect", str(root / "m.csv")]) == 0
    assert "10 more attributes are not listed" in "".join(capsys.readouterr())
    tables = asked("inspect", root / "m.csv").tables
    assert [row["attribute"] for row in tables["attributes"]] == extra[:30]


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from voxaudit.cli.main import main\n"
        "try: main(['inspect', '--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'polars', 'numpy', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
