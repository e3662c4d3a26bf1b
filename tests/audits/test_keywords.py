"""Errors that matter: classes of words, rates over speakers, groups, the user's own terms, the optional judge."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from voxaudit.audits.keywords.audit import keywords, weighed
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError
from voxaudit.recognize.services.judge import PROMPT
from voxaudit.score.align import count_words
from voxaudit.score.normalize import NORMALIZERS
from voxaudit.score.pairs import Pairs
from voxaudit.score.weight import CLASSES, LEXICONS, Weights, names_in, read_terms, weigh

ENGLISH = Weights(LEXICONS["en"], frozenset({"ashley"}), frozenset({("credit", "limit")}))


def matters(said: str, heard: str, others: Sequence[str] = ()) -> bool:
    """Say whether what was heard has an error that matters, `others` being what other recognizers heard."""
    rule = NORMALIZERS["spoken-en"]
    texts = [rule(text) for text in (heard, *others)]
    frame = pl.DataFrame({"recognizer": [str(number) for number in range(len(texts))]}).with_columns(
        utterance=pl.lit("u"), scenario=pl.lit("clean"), code=pl.lit("en")
    )
    pairs = Pairs.of(pl.Series([rule(said)] * len(texts)), pl.Series(texts))
    trials, _, _ = weighed(frame, {"en": ENGLISH}, pairs)
    return bool(trials["serious"][0])


@pytest.mark.parametrize(
    ("said", "heard", "expected"),
    [
        ("It is seven three four.", "It's 734", False),  # the same digits
        ("My number is 7 3 4.", "My number is 7 4.", True),
        ("My number is 7 4 4.", "My number is 7 4.", True),  # a digit said twice was said twice
        ("I do not want the card", "I do want the card", True),
        ("I want the card", "I do not want the card", True),
        ("Check the card", "Check a card", False),
        ("Check my card", "Check your card", True),  # somebody else's
        ("Yes, check the card now", "Is check the card now", True),
        ("May I talk to an agent now", "I talk to an agent now", True),  # a request, then none
        ("I will call you you again tomorrow", "I will call you again tomorrow", False),
        ("Where do I send it to today", "Do I send it to today", True),
        ("So I want it for a week", "I want it for a week", False),
        ("Check the card", "Check the car", True),
        ("Yes.", "Yeah.", False),
        ("No.", "Yeah.", True),
        ("Thank you.", "", True),
        ("I live in anytown now", "I live in any town now", False),
        ("I want want the new card today", "I want the new card today", False),
        ("C N 7 3 is my code", "C N A 7 3 is my code", True),  # "a" is a letter here
        ("raise my credit limit a bit", "raise my credit a bit", True),
        ("ashley is here for you", "ashleigh is here for you", True),
    ],
)
def test_which_errors_matter(said: str, heard: str, expected: bool) -> None:
    assert matters(said, heard) is expected


def test_added_words_that_most_others_heard_are_missing_in_the_reference() -> None:
    said, heard = "open the door", "please quickly open the door"
    assert matters(said, heard)
    assert not matters(said, heard, [heard] * 2)
    assert matters(said, heard, [heard])  # one other recognizer is no majority


def test_agreement_needs_half_of_two_or_more() -> None:
    said, heard = "open the door", "quickly open the door"
    assert not matters(said, heard, [heard, said])
    assert matters(said, heard, [heard, said, said])
    assert matters(said, heard, [heard])
    # The same words elsewhere, or instead of others, are not the same.
    assert matters(said, heard, ["open quickly the door", "quickly the door"])


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("c n 7 3 4 please check my credit limit", "c m 7 4 check the credit limits now"),
        ("not today ashley", "today ashley and ashley"),
        ("", "thank you"),
        ("thank you", ""),
    ],
)
def test_errors_of_the_classes_add_up_to_those_of_the_wer(said: str, heard: str) -> None:
    found = weigh(Pairs.of(pl.Series([said]), pl.Series([heard])), ENGLISH)
    counts = count_words(said, heard)
    assert found.errors.shape == (1, len(CLASSES))
    assert found.errors.sum() == counts.substitutions + counts.deletions + counts.insertions
    assert found.said.sum() == len(said.split())
    assert found.kept.sum() == counts.hits


def test_names_are_what_has_a_capital_inside_sentences() -> None:
    texts = ["Ask Nancy about it. Card lost.", "The Card is lost, the card", "I told I am Nancy"]
    assert names_in(texts, LEXICONS["en"]) == {"nancy"}
    assert names_in(texts, LEXICONS["zh"]) == frozenset()


def calls(**more: Any) -> pl.DataFrame:
    """Return calls of 16 speakers; those of group y have every second code wrong, the others one in eight."""
    rows = []
    for speaker in range(16):
        for number in range(8):
            wrong = number % 2 == 0 if speaker % 2 else number == speaker % 8
            about = {"utterance": f"{speaker}-{number}", "speaker": f"s{speaker}", "group": "xy"[speaker % 2]}
            text = f"my code is c n 7 3 {5 if wrong else 4} please"
            rows.append({**about, "reference": "My code is CN 734, please.", "text": text, **more})
    return pl.DataFrame(rows)


def test_rates_by_class_and_by_group() -> None:
    answer = keywords(calls(), attributes="group")
    share = answer.finding("keywords/recognizer/serious_error_rate")
    assert share.estimate == pytest.approx((8 * 4 + 8) / 128)
    assert share.low is not None
    assert share.high is not None
    assert share.low < 0.3125 < share.high
    rate = answer.finding("keywords/recognizer/keyword_error_rate")
    assert rate.estimate == pytest.approx(40 / (128 * 5))
    gap = answer.finding("keywords/recognizer/group/y/serious_error_ratio")
    assert gap.verdict == "shown"
    assert gap.estimate == pytest.approx(4.0)
    classes = {row["kind"]: row for row in answer.tables["classes"].to_dicts()}
    assert classes["numbers"]["errors"] == 40
    assert classes["letters"]["recall"] == 1.0
    assert answer.tables["groups-group"]["share"].to_list() == [0.125, 0.5]


def test_a_class_that_nobody_said_has_neither_recall_nor_precision() -> None:
    table = calls().with_columns(reference=pl.lit("My code, please."), text=pl.lit("my code 7 please"))
    row = keywords(table).tables["classes"].row(by_predicate=pl.col("kind") == "numbers", named=True)
    assert (row["said"], row["errors"], row["recall"], row["precision"]) == (0, 128, None, None)


def test_a_published_tables_own_name_of_a_column_chooses_rows() -> None:
    other = calls(locale="en-US").with_columns(utterance="b" + pl.col("utterance"), locale=pl.lit("en-GB"))
    table = pl.concat([calls(locale="en-US"), other])
    chosen, everything = keywords(table, where=["locale=en-US"]), keywords(table)
    assert chosen.finding("keywords/recognizer/serious_error_rate").utterances == 128
    assert everything.finding("keywords/recognizer/serious_error_rate").utterances == 256


def test_each_language_has_its_own_rules() -> None:
    spanish = {
        "utterance": "s",
        "speaker": "s",
        "reference": "Son doscientos cinco.",
        "text": "son 205",
        "language": "es-MX",
    }
    english = {
        "utterance": "e",
        "speaker": "e",
        "reference": "Two hundred five.",
        "text": "205",
        "language": "en-US",
    }
    german = {
        "utterance": "d",
        "speaker": "d",
        "reference": "Guten Tag.",
        "text": "guten tag",
        "language": "de",
    }
    answer = keywords(pl.DataFrame([spanish, english, german]))
    assert answer.finding("keywords/recognizer/serious_error_rate").estimate == 0.0
    codes = {note.code: note for note in answer.notes}
    assert codes["normalizer"].facts["normalizers"] == ["spoken-es@1", "spoken-en@1", "basic@1"]
    assert codes["no_lexicon"].facts["languages"] == ["de"]


def test_the_users_own_terms(tmp_path: Path) -> None:
    path = tmp_path / "terms.txt"
    path.write_text("# products\nSkyline card\n\nSkyline card\n", encoding="utf-8")
    assert read_terms(path) == ("Skyline card",)
    rows = {"utterance": ["a", "b", "c"], "reference": ["my Skyline card"] * 2 + ["my card"]}
    table = pl.DataFrame(rows | {"text": ["my skyline card", "my sky line card", "my skyline card"]})
    answer = keywords(table, keywords=path)
    assert answer.tables["terms"].to_dicts() == [
        {"recognizer": "recognizer", "term": "skyline card", "said": 2, "kept": 1, "added": 1}
    ]
    with pytest.raises(VoxauditError, match="cannot be read"):
        keywords(table, keywords=str(tmp_path / "none.txt"))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A language model on this machine that finds an error wherever the code ends in 5, and fails on request."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append({"path": self.path, **body})
            texts = json.loads(body["messages"][1]["content"])
            word = (
                "Yes."
                if texts["transcript"].endswith("5 please")
                else "perhaps"
                if "3 6" in str(texts)
                else "no"
            )
            name = "judge-2026" if "key" not in self.path else f"judge {self.headers['Authorization'][::-1]}"
            data = json.dumps({"model": name, "choices": [{"message": {"content": word}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: Any) -> None:
            pass

    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", requests
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("text", ["turn it 4", "turn it off 4"])
def test_a_class_that_nobody_said_has_no_rate_and_no_sentence(text: str) -> None:
    answer = keywords(pl.DataFrame({"utterance": ["a"], "reference": ["turn it off"], "text": [text]}))
    numbers = answer.tables["classes"].filter(pl.col("kind") == "numbers")
    assert numbers["heard"].to_list() == [1]
    assert numbers["rate"].to_list() == [None]
    assert answer.tables["utterances"]["keyword_rate"].to_list() == [None]
    assert not any("keywords" in one.sentence or "numbers" in one.sentence for one in answer.findings)


def test_a_judge_is_asked_only_where_it_is_asked_for_and_decides_nothing(model: Any) -> None:
    url, requests = model
    rows = [
        {"utterance": "a", "reference": "c n 7 3 4 please", "text": "c n 7 3 5 please"},
        {"utterance": "b", "reference": "c n 7 3 4 please", "text": "c m 7 3 4 please"},
        {"utterance": "c", "reference": "c n 7 3 4 please", "text": "c n 7 3 6"},
        {"utterance": "d", "reference": "c n 7 3 4 please", "text": "C N 734 please"},
    ]
    table = pl.DataFrame(rows)
    plain = keywords(table)
    assert not requests
    answer = keywords(table, judge={"url": url, "model": "judge"})
    assert len(requests) == 3  # nothing is asked about what is right
    assert requests[0]["path"] == "/v1/chat/completions"
    assert requests[0]["messages"][0]["content"] == PROMPT
    agreement = answer.finding("keywords/judge_agreement")
    assert (agreement.estimate, agreement.utterances) == (0.5, 2)
    assert answer.tables["judge"]["utterance"].to_list() == ["b"]
    note = next(note for note in answer.notes if note.code == "judge")
    assert note.facts["model"] == "judge-2026"
    assert note.facts["failed"] == 1
    assert note.facts["prompt"] == PROMPT
    own = [one for one in answer.findings if one.measure != "judge_agreement"]
    assert [(one.id, one.estimate) for one in own] == [(one.id, one.estimate) for one in plain.findings]


def test_a_judge_is_named_on_the_command_line_and_what_it_says_is_printed(
    model: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url, requests = model
    rows = {"utterance": ["a"], "reference": ["c n 7 3 4 please"], "text": ["c n 7 3 5 please"]}
    pl.DataFrame(rows).write_csv(tmp_path / "heard.csv")
    asked = ["keywords", str(tmp_path / "heard.csv"), "--judge", f"url={url},model=judge", "--judged", "3"]
    assert main(asked) == 0
    assert [request["path"] for request in requests] == ["/v1/chat/completions"]
    assert "judge-2026 finds an error that matters in 1 of 1 utterances" in capsys.readouterr().out
    assert main([*asked[:3], "judge"]) == 2


def test_a_judge_that_repeats_the_key_is_not_quoted(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-0123456789abcdef")
    table = pl.DataFrame({"utterance": ["a"], "reference": ["c n 7"], "text": ["c m 7"]})
    answer = keywords(table, judge={"url": f"{model[0]}/key", "model": "judge", "key_env": "JUDGE_KEY"})
    shown = json.dumps(answer.to_dict())
    assert "judge ***" in shown
    assert "fedcba9876543210-ks" not in shown


def test_a_judge_with_a_wrong_setting_is_one_line() -> None:
    with pytest.raises(VoxauditError, match="modle"):
        keywords(calls(), judge={"modle": "x"})


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "calls.csv"
    calls(recognizer="ours").write_csv(path)
    assert main(["keywords", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["findings"][0]["id"] == "keywords/ours/serious_error_rate"
    assert main(["keywords", str(path), "--keywords", str(tmp_path / "none")]) == 2


def test_a_recognizer_without_references_is_left_out_of_comparisons() -> None:
    other = calls(recognizer="other").with_columns(reference=pl.lit(None, pl.String))
    table = pl.concat([calls(recognizer="heard"), other])
    found = [one for one in keywords(table, attributes="group").findings if one.group]
    assert {one.recognizer for one in found} == {"heard"}
