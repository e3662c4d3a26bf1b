"""Real corpora, where they are at hand."""

from __future__ import annotations

from voxaudit.corpus import read_corpus


def test_ravdess(shared_data):
    corpus = read_corpus(shared_data / "ravdess" / "manifest.csv")
    assert (corpus.name, corpus.format, len(corpus), corpus.problems) == ("ravdess", "manifest", 128, ())
    assert corpus.table["speaker"].n_unique() == 16
    assert corpus.table["text"].n_unique() == 2
    assert corpus.attributes == ["gender", "emotion"]
    assert corpus.table["gender"].value_counts(sort=True)["count"].to_list() == [64, 64]
    assert all(utterance.audio.is_file() for utterance in corpus)
    assert next(iter(corpus)).id == "audio/03-01-01-01-01-01-01"


def test_the_codes_of_ravdess_say_what_its_manifest_says(shared_data):
    coded = read_corpus(shared_data / "ravdess" / "audio")
    assert (coded.format, coded.problems) == ("ravdess", ())
    listed = read_corpus(shared_data / "ravdess").table
    same = coded.table.with_columns(coded.table["text"].str.to_lowercase()).select(
        "audio", "speaker", "text", "gender", "emotion"
    )
    assert same.sort("audio").equals(listed.select(same.columns).sort("audio"))


def test_coraal_has_no_text(shared_data):
    corpus = read_corpus(shared_data / "coraal" / "manifest.csv")
    assert (len(corpus), corpus.table["speaker"].n_unique()) == (112, 38)
    assert [problem.kind for problem in corpus.problems] == ["no_text"]
    assert corpus.table["text"].null_count() == 112
    assert corpus.attributes == ["city", "socioeconomic", "age_group", "gender", "wordcount"]


def test_fsdd_and_its_bare_folder(shared_data):
    corpus = read_corpus(shared_data / "fsdd")
    assert (len(corpus), corpus.table["speaker"].n_unique(), corpus.problems) == (480, 6, ())
    assert set(corpus.table["accent"]) == {"USA", "Germany", "Greece", "Belgium (French)"}
    bare = read_corpus(shared_data / "fsdd" / "audio")
    assert bare.format == "folder"
    assert sorted(bare.table["audio"]) == sorted(corpus.table["audio"])
