"""Choosing words, and the experiment that speaks them: by hand, and once for real."""

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from voxaudit.audits.localize.audit import localize, localize_counts
from voxaudit.errors import VoxauditError
from voxaudit.recognize import make_recognizer
from voxaudit.recognize.files import installed
from voxaudit.speak.base import Voice

sys.path.insert(
    0, str(Path(__file__).resolve().parents[2])
)  # the benchmarks are no part of the installed package

from benchmarks.studies.grammar import read_grammar, sentences
from benchmarks.studies.localize import (
    NON_ROBUST,
    ROBUST,
    choose_words,
    compare,
    recognizer_settings,
    validate,
)

WORDS = ["door", "window", "dog", "house"]


def spoken(lost=("dog", "house"), speakers=6):
    """Each speaker says four words twice; in noise `lost` are gone."""
    kept = " ".join(word for word in WORDS if word not in lost)
    return pl.DataFrame(
        [
            {"utterance": f"{speaker}-{number}", "speaker": f"s{speaker}", "recognizer": "moonshine"}
            | {"scenario": scenario, "text": text, "side": "left" if speaker % 2 else "right"}
            for speaker in range(speakers)
            for number in range(2)
            for scenario, text in (("clean", " ".join(WORDS) + " rare"), ("noise:theta=2", kept))
        ]
    )


@pytest.mark.parametrize("by", ["loss", "drop"])
def test_the_words_are_chosen_over_all_groups(by):
    found = localize(spoken(), attribute="side").detail
    chosen = choose_words(found, "moonshine", "noise", by=by, count=2)
    assert {(word.word, word.kind) for word in chosen} == {
        *(("dog", NON_ROBUST), ("house", NON_ROBUST), ("door", ROBUST), ("window", ROBUST)),
    }
    assert all(word.occurrences == 12 and word.rate == (word.kind == NON_ROBUST) for word in chosen)


def test_more_evidence_goes_first():
    counts = [("door", 100, 10), ("window", 5, 0), ("dog", 100, 90), ("house", 5, 5), ("rare", 4, 4)]
    rows = [
        ("r", *row)
        for word, said, lost in counts
        for row in (("Original", "", "g", word, said), ("n", "1", "g", word, said - lost))
    ]
    table = pl.DataFrame(
        rows, schema=["recognizer", "perturbation", "setting", "group", "word", "count"], orient="row"
    )
    chosen = choose_words(localize_counts(table), "r", "n", by="drop", count=1)
    assert [word.word for word in chosen] == ["door", "dog"]
    with pytest.raises(VoxauditError, match="no aligned losses"):
        choose_words(localize_counts(table), "r", "n", by="loss")


def test_what_cannot_be_chosen():
    found = localize(spoken()).detail
    with pytest.raises(VoxauditError, match="Did you mean: moonshine"):
        choose_words(found, "moonshin", "noise")
    with pytest.raises(VoxauditError, match="There: noise"):
        choose_words(found, "moonshine", "clipping")
    with pytest.raises(VoxauditError, match="lost equally often"):
        choose_words(localize(spoken(lost=()), vocabulary=WORDS).detail, "moonshine", "noise")
    with pytest.raises(VoxauditError, match="give more speech"):
        choose_words(localize(spoken(speakers=2)).detail, "moonshine", "noise")


def test_the_comparison_by_hand():
    missed = np.array([1, 1, 1, 0, 1, 0, 0, 0.0])
    kinds = np.array([NON_ROBUST] * 4 + [ROBUST] * 4)
    found = compare(missed, kinds, np.arange(8) // 2)
    assert (found.non_robust_errors, found.robust_errors, found.ratio) == (3, 1, 3.0)
    assert found.p == pytest.approx(17 / 70)  # (16 + 1) of the 70 ways to place four errors
    assert found.words_low is None  # two words of a kind are too few
    assert compare(missed[:4], kinds[:4], np.arange(4)).ratio is None


def test_a_runs_own_settings_are_used():
    config = {"recognizers": {"mine": {"settings": {"threads": 2}, "fingerprint": {"engine": "moonshine"}}}}
    assert recognizer_settings(config, "mine") == {"engine": "moonshine", "threads": 2}


@pytest.mark.skipif(
    not (installed("moonshine_voice") and installed("py_nanotts")), reason="needs the demo's packages"
)
@pytest.mark.slow
def test_the_experiment_for_real(tmp_path):
    chosen = choose_words(localize(spoken()).detail, "moonshine", "noise", count=1)
    options = {"out": tmp_path, "each": 2, "voice": Voice("pico"), "workers": 1, "progress": False}
    found = validate(make_recognizer("moonshine"), "moonshine", chosen, **options)
    assert [(word.kind, word.sentences) for word in found.words] == [(ROBUST, 2), (NON_ROBUST, 2)]
    assert found.errors.robust_sentences == found.errors.non_robust_sentences == 2
    manifest = pl.read_csv(tmp_path / "corpus" / "manifest.csv")
    assert all(word in text.lower() for word, text in manifest.select("word", "text").iter_rows())
    assert validate(make_recognizer("moonshine"), "moonshine", chosen, **options) == found


def test_omega_decides_what_is_robust_and_a_grammar_writes_the_sentences(tmp_path):
    found = localize(spoken()).detail
    chosen = choose_words(found, "moonshine", "noise", omega=3, count=2)
    kinds = {word.word: word.kind for word in chosen}
    assert kinds == {"dog": NON_ROBUST, "house": NON_ROBUST, "door": ROBUST, "window": ROBUST}
    with pytest.raises(VoxauditError, match="no word's drop is on the other side of omega 50"):
        choose_words(found, "moonshine", "noise", omega=50)
    file = tmp_path / "mine.json"
    file.write_text('{"dog": ["Our {word} sleeps {time}."], "door": ["Open the {word} for {name}."]}')
    grammar = read_grammar(file)
    own = choose_words(found, "moonshine", "noise", omega=3, grammar=grammar)
    assert {word.word for word in own} == {"dog", "door"}  # it has no sentence for the others
    for text in sentences("dog", 3, grammar=grammar):
        assert text.startswith("Our dog sleeps ")
    with pytest.raises(VoxauditError, match="no frame for 'house'"):
        sentences("house", 1, grammar=grammar)
    file.write_text('{"*": ["No slot here."]}')
    with pytest.raises(VoxauditError, match=r"are sentences with \{word\} once"):
        read_grammar(file)
