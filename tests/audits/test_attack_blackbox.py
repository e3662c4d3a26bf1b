"""The black-box search, and the command: small engines that hear by level, so that the right answer is known."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.audio import Audio, read
from voxaudit.audits.attack.audit import attack
from voxaudit.audits.attack.result import Tried, mistakes, scenario_id, summarize
from voxaudit.cli.main import main
from voxaudit.corpus import Utterance, read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.perturb import Scenario
from voxaudit.perturb.universal import Universal, UniversalNoise, open_universal, save_universal
from voxaudit.recognize import make_recognizer
from voxaudit.recognize.attack.blackbox import Search, SearchNoise, SearchScenarios, best_of_random, search
from voxaudit.recognize.attack.gradient import measured
from voxaudit.recognize.attack.models import AttackError, Victim, open_victim
from voxaudit.run.session import Session

ENGINE = """
import numpy as np

def hear(samples, rate):
    # Five words; each is lost where its fifth of the clip is louder than the speech in it was.
    parts = np.array_split(samples.astype(np.float64), 5)
    return " ".join(w for w, p in zip("one two three four five".split(), parts) if np.mean(p**2) < 0.0112)
"""

SPEAKERS = 3


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "engine.py").write_text(ENGINE)
    generator = np.random.default_rng(0)
    rows = ["path,speaker,text"]
    for number in range(4):
        samples = (0.1 * generator.standard_normal(4000)).astype(np.float32)
        soundfile.write(tmp_path / f"{number}.wav", samples, 8000, subtype="FLOAT")
        rows.append(f"{number}.wav,s{number % SPEAKERS},one two three four five")
    (tmp_path / "manifest.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def engine(folder):
    return f"python:{folder / 'engine.py'}:hear,rate=none"


def command(*arguments):
    return main(["attack", *map(str, arguments)])


def test_noises_keep_the_bound_and_come_out_the_same_again():
    generator = np.random.default_rng(0)
    speech = (0.3 * generator.standard_normal(3000) * np.linspace(0, 1, 3000)).astype(np.float32)
    for white in (False, True):
        seen = set()
        for chain in ((0,), (1,), (2,), (1, 5), (1, 5, 9)):
            noise = SearchNoise(12.0, chain, white)
            again = SearchScenarios(0)[noise.id]
            first, second = (
                again.apply(Audio(speech, 8000), seed=0, utterance="u").samples,
                SearchScenarios(0)[noise.id].apply(Audio(speech, 8000), seed=0, utterance="u").samples,
            )
            assert np.array_equal(first, second)
            assert 12.0 <= measured(speech, first) < 12.5
            seen.add(first.tobytes())
        assert len(seen) == 5
    other = SearchScenarios(0)["blackbox:snr=12,white=0"]
    prints = {other.fingerprint(seed=0, utterance=u) for u in ("u", "v")}
    prints.add(SearchScenarios(1)["blackbox:snr=12,white=0"].fingerprint(seed=0, utterance="u"))
    assert len(prints) == 3
    for samples in (np.zeros(30, np.float32), np.array([0.3], np.float32)):
        assert len(SearchNoise(10.0, (0, 1))(samples, 8000, generator)) == len(samples)
    with pytest.raises(VoxauditError, match="is not a noise of a black-box search"):
        SearchScenarios(0)["blackbox:snr=12"]


def test_the_search_builds_on_what_it_found():
    """Each noise number is worth its last digit; a chain is worth its sum: only mixing gets above nine."""

    def hear(asked):
        heard = []
        for _, id_ in asked:
            chain = [int(number) for number in id_.rpartition("=")[2].split(".")]
            heard.append(" ".join(["x"] * min(20, sum(number % 10 for number in chain))))
        return heard

    utterances = [Utterance("a", "a.wav", text=""), Utterance("b", "b.wav", text="")]
    found = search(hear, utterances, Search(10.0, 60), judge=mistakes)
    rival = best_of_random(hear, utterances, Search(10.0, 60), judge=mistakes)
    assert [one.score[0] for one in rival] == [9, 9]
    assert all(one.score[0] == 20 for one in found)
    silent = search(lambda asked: [None] * len(asked), utterances, Search(10.0, 5), judge=mistakes)
    assert silent == [None, None]
    with pytest.raises(AttackError, match="queries must be at least 1"):
        Search(10.0, 0)


def test_the_command_attacks_an_ordinary_engine(corpus, capsys):
    out = corpus / "out"
    arguments = [corpus / "manifest.csv", "--recognizers", engine(corpus), "--method", "blackbox"]
    options = ["--snr", "10", "--queries", "12", "--workers", "1", "--no-cache", "--out", out]
    assert command(*arguments, *options, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    (row,) = json.loads((out / "attack.json").read_text())["attacks"]
    names = answer["tables"][0]["names"]
    for key in ("method", "snr_asked", "snr_measured_median", "wer_clean", "wer_attacked", "werd", "cer"):
        assert key in names
    (finding,) = answer["findings"]
    # Four utterances of three speakers carry no interval, so nothing is claimed.
    assert (finding["verdict"], finding["code"], finding["low"]) == ("refused", "too_few_utterances", None)
    assert finding["estimate"] == row["werd"]
    assert "how sure that is cannot be said with 4 utterances" in finding["sentence"]
    assert (row["method"], row["snr_asked"], row["queries"], row["wer_clean"]) == ("blackbox", 10.0, 48, 0.0)
    assert row["snr_measured_min"] >= 10.0
    assert row["wer_attacked"] >= row["wer_noise"] > 0.0
    assert row["success_rate"] == 1.0
    assert row["interval_by"] is None  # four utterances of three speakers carry no interval
    kept = read_corpus(next((out / "audio").rglob("manifest.csv")))
    hear = make_recognizer(engine(corpus)).load()
    errors = 0
    for before, after in zip(read_corpus(corpus / "manifest.csv"), kept, strict=True):
        x, y = read(before.audio), read(after.audio)
        assert measured(x.samples, y.samples) >= 10.0
        errors += 5 - len(hear([Audio(y.samples, y.rate)])[0].text.split())
    assert errors / 20 == pytest.approx(row["wer_attacked"])
    scores = pl.read_parquet(out / "scores.parquet")
    assert set(scores["scenario"]) == {"clean", "blackbox:snr=10"}
    # The store remembers, and the answer is the same.
    assert command(*arguments, *options, "--json") == 0
    assert json.loads(capsys.readouterr().out)["findings"] == answer["findings"]
    (again,) = json.loads((out / "attack.json").read_text())["attacks"]
    assert {**again, "seconds": 0} == {**row, "seconds": 0}
    # The finding's command reads it again, and nothing is heard.
    assert finding["command"] == "voxaudit attack out"
    assert command(out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["findings"] == answer["findings"]
    assert command(out) == 0
    assert "; the worst of as much plain noise of that level gives" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--method", "pgd"],
            "gives no gradient, so the method pgd cannot attack it. Use the method blackbox",
        ),
        (["--method", "universal"], "gives no gradient, so the method universal"),
        (
            ["--method", "blackbox", "--target", "no"],
            "cannot aim at a text; pgd can (see --target, --method)",
        ),
        (["--method", "blackbox", "--dev", "manifest.csv"], "is for the method universal"),
        (
            ["--method", "blackbox", "--snr", "loud"],
            "--snr: takes numbers with commas between them, not 'loud'",
        ),
        (["--method", "blackbox", "--snr", "nan"], "all finite"),
        (["--method", "blackbox", "--utterances", "0"], "--utterances: must be at least 1, not 0"),
        (["--method", "blackbox", "--queries", "0"], "--queries: must be at least 1, not 0"),
        (["--method", "blackbox", "--workers", "0"], "--workers: must be at least 1, not 0"),
    ],
)
def test_what_cannot_be_asked_is_one_line(corpus, monkeypatch, capsys, options, message):
    monkeypatch.chdir(corpus)
    fixed = ["--recognizers", engine(corpus), "--out", corpus / "out", "--no-cache"]
    assert command("manifest.csv", *fixed, *options) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (corpus / "out").exists()


def test_what_is_missing_is_named_as_an_argument(corpus):
    for given, missing in (({}, "recognizers"), ({"recognizers": [engine(corpus)]}, "out")):
        with pytest.raises(VoxauditError, match=f"see the argument `{missing}`"):
            attack(corpus / "manifest.csv", method="blackbox", **given)
    with pytest.raises(VoxauditError, match="two recognizers are called"):
        attack(corpus / "manifest.csv", [engine(corpus)] * 2, method="blackbox", out=corpus / "out")


def test_a_corpus_without_references_is_refused(corpus):
    (corpus / "manifest.csv").write_text("path,speaker\n0.wav,a\n")
    victim = Victim("mine", recognizer=make_recognizer(engine(corpus)))
    with pytest.raises(AttackError, match="the utterance has no reference text"):
        attack(read_corpus(corpus / "manifest.csv"), [victim], method="blackbox", out=corpus / "out")
    assert not (corpus / "out").exists()


def test_an_ordinary_engine_is_opened_as_one():
    assert open_victim("moonshine").model is None
    with pytest.raises(VoxauditError, match="Did you mean: moonshine"):
        open_victim("monshine")


def test_scenarios_have_the_names_of_the_suite():
    assert [scenario_id("pgd", snr) for snr in (40.0, 30.0, 20.0, 10.0)] == [
        "pgd:1",
        "pgd:2",
        "pgd:3",
        "pgd:4",
    ]
    assert scenario_id("universal", 10.0) == "universal:4"
    assert scenario_id("pgd", 25.0) == "pgd:snr=25"
    assert scenario_id("pgd", 20.0, "linf", "no") == "pgd_linf_targeted:snr=20"


def test_a_row_by_hand():
    tried = [
        Tried(f"u{k}", f"s{k}", "a b", "a b", "x b" if k else "x y", "a b", 20.0 + k, True) for k in range(5)
    ]
    tried.append(Tried("silent", "s9", "a", "", None, None, failure="the audio is silent"))
    settings = {
        "recognizer": "r",
        "method": "pgd",
        "scenario": "pgd:3",
        "snr": 20.0,
        "queries": 7,
        "seconds": 1.0,
    }
    row = summarize(tried, **settings, settings={})
    assert (row.wer_clean, row.wer_attacked, row.werd, row.wer_noise) == (0.0, 0.6, 0.6, 0.0)
    assert (row.snr_measured_median, row.snr_measured_min) == (22.0, 20.0)
    assert (row.utterances, row.speakers, row.interval_by) == (5, 5, "speaker")
    assert row.werd_low <= 0.6 <= row.werd_high
    assert row.failures == {"the audio is silent": 1}
    assert row.cer == pytest.approx(6 / 15)


def test_a_universal_perturbation_is_a_perturbation_like_any_other(corpus):
    generator = np.random.default_rng(5)
    noise = Audio((0.01 * generator.standard_normal(1000)).astype(np.float32), 8000)
    save_universal(corpus / "u.wav", noise, {"recognizer": "mine", "snr": 10.0})
    source = open_universal(corpus / "u.wav")
    assert np.array_equal(source.noises[10.0].samples, noise.samples)
    assert source.describe() == "universal perturbation of 0.12 s, made against mine"
    (corpus / "elsewhere.wav").write_bytes((corpus / "u.wav").read_bytes())
    assert open_universal(corpus / "elsewhere.wav").fingerprint() == source.fingerprint()
    scenario = Scenario("universal:4", Universal(10.0, source))
    speech = read(corpus / "0.wav")
    after = scenario.apply(speech, seed=0, utterance="u")
    # Repeated to the speech's length, scaled to the SNR, the same for every utterance and seed.
    added = after.samples.astype(np.float64) - speech.samples
    looped = np.resize(noise.samples, 4000)
    assert np.corrcoef(added, looped)[0, 1] > 0.9999
    assert scenario.achieved(speech, seed=0, utterance="u")["snr_db"] == pytest.approx(10.0, abs=1e-3)
    assert np.array_equal(after.samples, scenario.apply(speech, seed=1, utterance="v").samples)
    assert scenario.fingerprint(seed=0, utterance="u") == scenario.fingerprint(seed=1, utterance="v")
    other = UniversalNoise({10.0: Audio(2 * noise.samples, 8000)})
    assert Scenario("universal:4", Universal(10.0, other)).fingerprint(seed=0, utterance="u") != (
        scenario.fingerprint(seed=0, utterance="u")
    )
    # The store and worker processes treat it as any other scenario.
    recognizers = {"mine": make_recognizer(engine(corpus))}
    utterances = list(read_corpus(corpus / "manifest.csv"))
    with Session(corpus / "run", recognizers, {"universal:4": scenario}, cache=False) as session:
        heard = session.hear([(one, "universal:4") for one in utterances])["mine"]
        session.hear([(one, "universal:4") for one in utterances])
        assert session.heard == 4
    expected = [scenario.apply(read(one.audio), seed=0, utterance=one.id) for one in utterances]
    assert [one.transcript for one in heard] == recognizers["mine"].load()(expected)
    assert any(len(one.transcript.text.split()) < 5 for one in heard)


def test_a_folder_has_a_noise_for_every_ratio(tmp_path):
    for snr in (10.0, 30.0):
        noise = Audio(np.full(50, snr / 100, np.float32), 8000)
        save_universal(tmp_path / f"{snr:g}dB.wav", noise, {"snr": snr})
    source = open_universal(tmp_path)
    taken = [source.at(snr, 2, 8000)[0] for snr in (10.0, 15.0, 40.0)]
    assert taken == pytest.approx([0.1, 0.1, 0.3])
    assert source.describe().startswith("2 universal perturbations")
    (tmp_path / "10dB.json").unlink()
    with pytest.raises(VoxauditError, match=r"10dB\.wav: no SNR is known"):
        open_universal(tmp_path)


def test_universal_files_that_cannot_serve_are_one_line(tmp_path):
    soundfile.write(tmp_path / "silent.wav", np.zeros(100), 8000)
    with pytest.raises(VoxauditError, match=r"silent\.wav: the audio is silent"):
        open_universal(tmp_path / "silent.wav")
    soundfile.write(tmp_path / "u.wav", np.ones(100) * 0.1, 8000)
    (tmp_path / "u.json").write_text("{")
    with pytest.raises(VoxauditError, match=r"u\.json: cannot read this file"):
        open_universal(tmp_path / "u.wav")
    with pytest.raises(VoxauditError, match=r"saved as \.wav"):
        save_universal(tmp_path / "u.flac", Audio(np.ones(3, np.float32), 8000), {})
    with pytest.raises(VoxauditError, match="no such audio file"):
        open_universal(tmp_path / "none.wav")
