"""Listening studies: what is made, who is asked what, what is kept, and what the answers say."""

import http.client
import json
import sqlite3
import stat
from contextlib import closing

import numpy as np
import polars as pl
import pytest
import soundfile
from scipy import stats

from voxaudit.cli.main import main
from voxaudit.corpus import read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.perturb.comprehensibility import read_ratings
from voxaudit.review.study.analyze import (
    Judgment,
    analyze_judgments,
    analyze_study,
    attentive,
    listened,
    write_ratings,
)
from voxaudit.review.study.app import by_link, study_app
from voxaudit.review.study.create import create_comprehensibility, create_realism
from voxaudit.review.study.ratings import analyze_ratings, mean_limits
from voxaudit.review.study.study import Item, open_answers, participants, read_study
from voxaudit.review.web import running
from voxaudit.stats.agreement import fleiss_kappa, rating_counts
from voxaudit.stats.weighted_choices import confidence_kappa

RATE = 16_000


def make_corpus(folder, count=6, pitch=200.0):
    folder.mkdir()
    lines = ["path,speaker"]
    for number in range(count):
        time = np.arange(RATE // 4) / RATE
        tone = 0.2 * np.sin(2 * np.pi * (pitch + 20 * number) * time) * np.hanning(len(time))
        soundfile.write(folder / f"{number}.wav", tone, RATE)
        lines.append(f"{number}.wav,s{number % 3}")
    (folder / "manifest.csv").write_text("\n".join(lines) + "\n")
    return read_corpus(folder / "manifest.csv")


@pytest.fixture
def rated(tmp_path):
    corpus = make_corpus(tmp_path / "corpus")
    return create_comprehensibility(
        corpus, ["lowpass:1", "lowpass:3", "gain:2"], out=tmp_path / "study", utterances=2
    )


@pytest.fixture
def paired(tmp_path):
    real, made = make_corpus(tmp_path / "real"), make_corpus(tmp_path / "made", pitch=500.0)
    return create_realism(real, made, out=tmp_path / "study", pairs=4)


class Browser:
    """A participant: a link turned into a cookie, then requests as the page sends them."""

    def __init__(self, server, token):
        self.server = server
        status, headers, _ = self.ask("GET", f"/?token={token}", cookie="")
        assert status == 303
        self.cookie = headers["Set-Cookie"].partition(";")[0]

    def ask(self, method, path, body=None, cookie=None, **extra):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=10)
        headers = {"Cookie": self.cookie if cookie is None else cookie, **extra}
        if method == "POST":
            headers |= {
                "Content-Type": "application/json",
                "X-Voxaudit": "1",
                "Origin": f"http://127.0.0.1:{self.server.port}",
            } | extra
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), content

    def state(self):
        return json.loads(self.ask("GET", "/api/state")[2])

    def answer(self, **fields):
        return self.ask("POST", "/api/answer", {"plays": 2, **fields})


@pytest.fixture
def serving():
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(study, count=2):
            people = participants(study, count)
            answers = stack.enter_context(open_answers(study.folder))
            server = stack.enter_context(
                running(study_app(study, people, answers), authorize=by_link(people))
            )
            return server, people

        yield start


def test_every_scenario_is_heard_with_every_clip_and_checked(rated):
    assert {(item.scenario, item.utterance) for item in rated.questions} == {
        (scenario, utterance)
        for scenario in ("lowpass:1", "lowpass:3", "gain:2")
        for utterance in {item.utterance for item in rated.questions}
    }
    assert len(rated.questions) == 6
    assert sorted(check.check for check in rated.checks) == ["high", "high", "low", "low"]
    assert all((rated.folder / "audio" / name).is_file() for item in rated.items for name in item.files)
    assert read_study(rated.folder) == rated


def test_clips_are_of_different_speakers(tmp_path):
    corpus = make_corpus(tmp_path / "corpus")
    study = create_comprehensibility(corpus, ["gain:1"], out=tmp_path / "study", utterances=3)
    speakers = dict(corpus.table.select("id", "speaker").iter_rows())
    assert len({speakers[item.utterance] for item in study.questions}) == 3


def test_orders_are_random_fixed_and_never_begin_with_a_check(rated):
    orders = [[item.id for item in rated.order_for(number)] for number in range(30)]
    assert len({tuple(order) for order in orders}) > 20
    assert orders == [[item.id for item in rated.order_for(number)] for number in range(30)]
    assert all(sorted(order) == sorted(item.id for item in rated.items) for order in orders)
    assert not any(rated.order_for(number)[0].check for number in range(30))


def test_parts_of_a_study_are_given_out_evenly(tmp_path):
    corpus = make_corpus(tmp_path / "corpus")
    study = create_comprehensibility(
        corpus, ["lowpass:1", "lowpass:2", "lowpass:3"], out=tmp_path / "study", utterances=2, each=2
    )
    asked = [item.id for number in range(6) for item in study.order_for(number) if not item.check]
    assert {asked.count(item.id) for item in study.questions} == {2}


def test_links_stay_and_are_private(rated):
    first = participants(rated, 2)
    more = participants(rated, 4)
    assert more[:2] == first
    assert len({one.token for one in more}) == 4
    assert stat.S_IMODE((rated.folder / "participants.json").stat().st_mode) == 0o600


def test_a_study_runs_from_start_to_end_and_resumes(rated, serving):
    server, people = serving(rated)
    browser = Browser(server, people[0].token)
    total = browser.state()["total"]
    for number in range(total):
        state = browser.state()
        assert state["done"] == number
        assert browser.ask("GET", f"/audio/{state['item']}/b")[1]["Content-Type"] == "audio/flac"
        item = next(one for one in rated.items if one.id == state["item"])
        rating = {"high": 10, "low": 1}.get(item.check, 7)
        assert browser.answer(item=state["item"], rating=rating)[0] == 200
        browser = Browser(server, people[0].token)  # another day, the same link
    assert browser.state()["item"] is None
    assert Browser(server, people[1].token).state()["done"] == 0
    found = analyze_study(rated)
    assert (found.started, found.finished, found.inattentive) == (1, 1, ())
    assert {cell.mean for cell in found.result.cells} == {7.0}


def test_an_answer_sent_twice_counts_once(rated, serving):
    server, people = serving(rated)
    browser = Browser(server, people[0].token)
    item = browser.state()["item"]
    browser.answer(item=item, rating=4)
    browser.answer(item=item, rating=9)
    with open_answers(rated.folder) as store:
        assert [answer for _, _, answer in store.all()] == [{"rating": 4}]


@pytest.mark.parametrize(
    "fields",
    [
        {"rating": 0},
        {"rating": 11},
        {"rating": "7"},
        {"rating": True},
        {"rating": 5.5},
        {"rating": 5, "plays": -1},
        {"rating": 5, "item": "another"},
        {"rating": 5, "item": None},
        {},
    ],
)
def test_nonsense_is_refused_and_not_kept(rated, serving, fields):
    server, people = serving(rated)
    browser = Browser(server, people[0].token)
    assert browser.answer(**{"item": browser.state()["item"], **fields})[0] == 400
    assert browser.state()["done"] == 0


def test_without_the_link_or_from_another_site_nothing_works(rated, serving):
    server, people = serving(rated)
    browser = Browser(server, people[0].token)
    item = browser.state()["item"]
    for path in ("/", "/api/state", f"/audio/{item}/a"):
        assert browser.ask("GET", path, cookie="")[0] == 403
        assert browser.ask("GET", path, cookie="voxaudit=nobody")[0] == 403
    assert browser.ask("GET", "/?token=wrong", cookie="")[0] == 403
    body = {"item": item, "rating": 5, "plays": 1}
    assert browser.ask("POST", "/api/answer", body, Origin="http://evil.example")[0] == 403
    assert browser.state()["done"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        *("/audio/../study.json/a", "/audio/%2e%2e%2fstudy.json/a", "/study.json", "/participants.json"),
        *("/audio/x/a", "/audio/{item}/c", "/audio/{item}/a/b", "/audio/{item}", "/answers.sqlite"),
    ],
)
def test_nothing_else_is_served(rated, serving, path):
    server, people = serving(rated)
    browser = Browser(server, people[0].token)
    assert browser.ask("GET", path.format(item=browser.state()["item"]))[0] in (400, 404)


def test_the_page_does_not_give_the_answer_away(paired, serving):
    server, people = serving(paired, 8)
    seen = set()
    for number, one in enumerate(people):
        browser = Browser(server, one.token)
        state = browser.state()
        assert not {"real", "files", "utterance", "check"} & set(state)
        item = next(each for each in paired.items if each.id == state["item"])
        first = browser.ask("GET", f"/audio/{item.id}/a")[2]
        swapped = paired.swapped(number, item)
        assert first == (paired.folder / "audio" / item.files[1 if swapped else 0]).read_bytes()
        seen.add(swapped)
    assert seen == {True, False}


def test_who_always_finds_the_real_one_is_right_whatever_the_order(paired, serving):
    server, people = serving(paired, 3)
    for number, one in enumerate(people):
        browser = Browser(server, one.token)
        while (state := browser.state())["item"]:
            item = next(each for each in paired.items if each.id == state["item"])
            place = item.real ^ paired.swapped(number, item)
            assert browser.answer(item=item.id, choice=place, confidence=4)[0] == 200
    found = analyze_study(paired)
    assert found.result.accuracy == 1.0
    assert found.result.kappa == pytest.approx(1.0)
    assert found.inattentive == ()


def test_practice_comes_first_and_does_not_count(tmp_path, serving):
    real, made = make_corpus(tmp_path / "real"), make_corpus(tmp_path / "made", pitch=500.0)
    study = create_realism(real, made, out=tmp_path / "study", pairs=2, practice=2)
    assert (len(study.questions), len(study.practice), study.each) == (2, 2, 2)
    asked = {item.utterance for item in study.questions}
    assert not asked & {item.utterance for item in study.practice}
    for number in range(3):
        order = study.order_for(number)
        assert tuple(order[:2]) == study.practice
        assert len(order) == 2 + 2 + len(study.checks)
    server, people = serving(study, 1)
    browser = Browser(server, people[0].token)
    while (state := browser.state())["item"]:
        item = next(each for each in study.items if each.id == state["item"])
        right = item.real ^ study.swapped(0, item)
        wrong = item in study.practice  # mistakes in practice cost nothing
        assert browser.answer(item=item.id, choice=right ^ wrong, confidence=4)[0] == 200
    found = analyze_study(study)
    assert (found.result.accuracy, found.inattentive, found.finished) == (1.0, (), 1)


def test_who_fails_two_checks_is_left_out_unless_asked(rated):
    with open_answers(rated.folder) as store:
        for item in rated.items:
            good = {"high": 10, "low": 1}.get(item.check, 8)
            store.add("p001", item.id, {"rating": good}, 2)
            store.add("p002", item.id, {"rating": 5}, 2)
    found = analyze_study(rated)
    assert found.inattentive == ("p002",)
    assert {cell.mean for cell in found.result.cells} == {8.0}
    kept = analyze_study(rated, keep_inattentive=True)
    assert {cell.mean for cell in kept.result.cells} == {6.5}


@pytest.mark.slow
@pytest.mark.parametrize("rating", range(1, 11))
def test_the_same_rating_everywhere_fails_the_attention_checks(rated, rating):
    with open_answers(rated.folder) as store:
        for item in rated.items:
            store.add("p001", item.id, {"rating": {"high": 10, "low": 1}.get(item.check, 8)}, 2)
            store.add("p002", item.id, {"rating": rating}, 2)
    assert analyze_study(rated).inattentive == ("p002",)


def test_one_slip_is_forgiven_where_the_rest_tells_the_checks_apart():
    def check(kind, rating):
        return Item(f"{kind}{rating}", ("a", "b"), check=kind), {"rating": rating}

    assert listened([check("high", 9), check("high", 10), check("low", 9), check("low", 1)])
    assert not listened([check("high", 9), check("high", 7), check("low", 9), check("low", 1)])
    # Studies made before had one check of drowned speech: 10 everywhere fails only that one.
    assert listened([check("high", 10), check("high", 10), check("low", 1)])
    assert not listened([check("high", 10), check("high", 10), check("low", 10)])


@pytest.mark.parametrize("side", [0, 1])
def test_who_always_takes_the_same_side_fails_the_attention_checks(paired, side):
    for number in range(20):
        checks = []
        for item in paired.checks:
            choice = side ^ paired.swapped(number, item)
            checks.append((item, {"choice": int(choice), "confidence": 4}))
        assert len(checks) == 4
        assert sum(answer["choice"] == item.real for item, answer in checks) == 2
        assert not listened(checks)


@pytest.mark.parametrize(
    ("check", "answer", "good"),
    [
        ("high", {"rating": 8}, True),
        ("high", {"rating": 7}, False),
        ("low", {"rating": 3}, True),
        ("low", {"rating": 4}, False),
        ("real", {"choice": 1}, True),
        ("real", {"choice": 0}, False),
        ("", {"rating": 1}, True),
    ],
)
def test_what_an_attentive_person_answers(check, answer, good):
    assert attentive(Item("i", ("a", "b"), real=1, check=check), answer) is good


def test_ratings_are_what_the_differential_audit_reads(rated, tmp_path):
    with open_answers(rated.folder) as store:
        for place, item in enumerate(rated.questions):
            store.add("p001", item.id, {"rating": 1 + place}, 2)
    found = analyze_study(rated)
    write_ratings(found.ratings, tmp_path / "ratings.csv")
    means = read_ratings(tmp_path / "ratings.csv")
    assert means.of("lowpass", 1.0) == pytest.approx(1.5)
    assert means.of("lowpass", 3.0) == pytest.approx(3.5)
    assert means.of("gain", 2.0) == pytest.approx(5.5)


def ratings(rows):
    return pl.DataFrame(rows, schema=["perturbation", "setting", "participant", "rating"], orient="row")


def test_means_and_drops_by_hand():
    rows = [
        ("noise", setting, who, float(rating))
        for setting, all_ in (("10", (9, 8, 10)), ("2", (5, 6, 7)))
        for who, rating in zip("abc", all_, strict=True)
    ]
    found = analyze_ratings(ratings(rows))
    mild, strong = found.cells
    assert (mild.mean, strong.mean) == (9.0, 6.0)
    assert (mild.degradation, strong.degradation) == (10.0, 40.0)
    assert (mild.low, mild.high) == mean_limits(np.array([9.0, 8.0, 10.0]), 1, 10)
    assert 1 < mild.low < 8 < mild.mean < mild.high <= 10
    assert found.drops[0].drop == 30.0
    differences = np.array([4.0, 2.0, 3.0]) * 10
    assert found.drops[0].t == pytest.approx(differences.mean() / (differences.std(ddof=1) / 3**0.5))
    assert found.above == 0.5


@pytest.mark.parametrize("values", [[9, 10], [10, 10], [1, 10, 1, 10], [10] * 600, [2.5] * 30, [1] * 3])
def test_limits_of_a_mean_stay_on_the_scale(values):
    values = np.array(values, dtype=float)
    low, high = mean_limits(values, 1, 10)
    assert 1 <= low <= values.mean() <= high <= 10
    assert low < high
    assert mean_limits(values[:1], 1, 10) == (None, None)


def test_limits_of_a_mean_of_zeros_and_ones_are_those_of_clopper_and_pearson():
    for ones, count in ((0, 4), (3, 8), (10, 10)):
        values = np.array([1.0] * ones + [0.0] * (count - ones))
        low, high = mean_limits(values, 0, 1)
        exact = stats.binomtest(ones, count).proportion_ci(0.95, method="exact")
        assert (low, high) == pytest.approx((exact.low, exact.high), abs=0.01)


def test_limits_of_a_mean_of_many_are_those_of_the_t_distribution():
    values = np.random.default_rng(3).integers(4, 9, 200).astype(float)
    low, high = mean_limits(values, 1, 10)
    exact = stats.t.interval(0.95, 199, values.mean(), stats.sem(values))
    assert (low, high) == pytest.approx(exact, abs=0.08)
    more = np.random.default_rng(3).integers(4, 9, 800).astype(float)
    exact = stats.t.interval(0.95, 799, more.mean(), stats.sem(more))
    assert mean_limits(more, 1, 10) == pytest.approx(exact, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shares",
    [
        {10: 0.95, 1: 0.05},  # a ceiling that few leave, far
        {10: 0.9, 9: 0.1},
        {1: 0.5, 10: 0.5},
        {6: 0.2, 7: 0.3, 8: 0.3, 9: 0.2},
    ],
    ids=["ceiling", "mild ceiling", "two camps", "bell"],
)
@pytest.mark.parametrize("people", [3, 8])
def test_limits_of_a_mean_hold_for_few_raters_and_at_the_ceiling(shares, people):
    generator = np.random.default_rng(7)
    true = sum(rating * share for rating, share in shares.items())
    held = 0
    for _ in range(500):
        values = generator.choice(list(shares), people, p=list(shares.values())).astype(float)
        low, high = mean_limits(values, 1, 10)
        held += low <= true <= high
    assert held / 500 >= 0.95 - 2.5 * (0.95 * 0.05 / 500) ** 0.5


def test_several_clips_of_one_person_are_one_rating():
    rows = [("a", "1", "x", 2.0), ("a", "1", "x", 4.0), ("a", "1", "y", 9.0)]
    found = analyze_ratings(ratings(rows))
    assert found.cells[0].mean == 6.0
    assert found.cells[0].participants == 2


def test_a_scenario_or_a_whole_perturbation_can_be_left_out():
    table = ratings([("Amp", "1.0", "x", 2.0), ("Amp", "2", "x", 3.0), ("b", "1", "x", 4.0)])
    assert [cell.perturbation for cell in analyze_ratings(table, ["amp"]).cells] == ["b"]
    assert [cell.setting for cell in analyze_ratings(table, ["amp:2.0"]).cells] == ["1.0", "1"]
    with pytest.raises(VoxauditError, match="nothing to exclude is called 'c'"):
        analyze_ratings(table, ["c"])


def test_one_participant_gives_means_without_intervals():
    found = analyze_ratings(ratings([("a", "1", "x", 2.0), ("a", "2", "x", 3.0)]))
    assert found.cells[0].low is None
    assert found.kappa_linear.value is None
    assert found.drops[0].p is None


def test_equal_confidence_gives_fleiss_kappa():
    rng = np.random.default_rng(1)
    choices = rng.integers(0, 3, (12, 5))
    plain = fleiss_kappa(rating_counts(choices, 3))
    assert confidence_kappa(choices, np.ones(choices.shape), 3) == pytest.approx(plain)
    assert confidence_kappa(choices, np.full(choices.shape, 0.3), 3) == pytest.approx(plain)


def test_guesses_without_confidence_do_not_count():
    choices = np.array([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 0]])
    weights = np.array([[1.0, 1.0, 0.0]] * 4)
    assert confidence_kappa(choices, weights, 2) == pytest.approx(1.0)
    assert confidence_kappa(choices, np.zeros(choices.shape), 2) is None


def test_guessing_is_not_telling_apart():
    rng = np.random.default_rng(0)
    heard = [
        Judgment(f"pair {pair}", f"p{who}", int(choice := rng.integers(2)), bool(choice == pair % 2), 0.5)
        for who in range(40)
        for pair in range(10)
    ]
    found = analyze_judgments(heard)
    assert found.low < 0.5 < found.high
    assert found.p > 0.05
    assert abs(found.kappa) < 0.1
    assert found.real_score + found.generated_score == pytest.approx(1.0)


def test_the_command_line_from_create_to_analyze(tmp_path, capsys, asked):
    make_corpus(tmp_path / "corpus")
    out = str(tmp_path / "study")
    arguments = ["study", "create", str(tmp_path / "corpus" / "manifest.csv"), "--out", out]
    arguments += ["--scenarios", "gain:1,packet_loss:loss=0.1,burst=2"]  # an id may hold commas
    assert main(arguments) == 0
    assert "2 questions" in capsys.readouterr().out
    assert main(arguments) == 2
    assert "holds a study already" in capsys.readouterr().err
    assert main(["study", "analyze", out]) == 2
    assert "nobody has answered yet" in capsys.readouterr().err
    study = read_study(out)
    with open_answers(study.folder) as store:
        for item in study.items:
            store.add("p001", item.id, {"rating": {"low": 2}.get(item.check, 9)}, 2)
    answer = asked("study", "analyze", out, "--export", tmp_path / "r.csv")
    assert answer.notes["participants"] == {"started": 1, "finished": 1}
    assert [cell["mean"] for cell in answer.tables["ratings"]] == [9.0, 9.0]
    assert (tmp_path / "r.csv").read_text().splitlines()[0] == "perturbation,setting,participant,rating"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "--out", "x"], "needs one corpus"),
        (["create", "--kind", "realism", "--out", "x"], "--real"),
        (["create", "{corpus}", "--scenarios", "clean", "--out", "{tmp}/a"], "no scenario to rate"),
        (["create", "{corpus}", "--scenarios", "gian:1", "--out", "{tmp}/a"], "gain"),
        (["create", "{corpus}", "--utterances", "99", "--out", "{tmp}/a"], "has 6 utterances, not 99"),
        (["create", "{corpus}", "--questions", "99", "--out", "{tmp}/a"], "1 to 8 questions"),
        (["serve", "{tmp}"], "not a study"),
        (["analyze", "{tmp}"], "not a study"),
        (["analyze", "{tmp}/nothing.csv"], "no such file"),
        (["analyze", "{corpus}"], "no column 'perturbation'"),
    ],
)
def test_mistakes_are_one_line(tmp_path, capsys, arguments, message):
    make_corpus(tmp_path / "corpus")
    names = {"corpus": tmp_path / "corpus" / "manifest.csv", "tmp": tmp_path}
    assert main(["study", *(part.format(**names) for part in arguments)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_a_study_cannot_name_files_elsewhere(rated):
    path = rated.folder / "study.json"
    document = json.loads(path.read_text())
    document["items"][0]["files"][0] = "../participants.json"
    path.write_text(json.dumps(document))
    with pytest.raises(VoxauditError, match=r"outside of audio/"):
        read_study(rated.folder)


def test_bad_ratings_name_the_row(tmp_path):
    path = tmp_path / "ratings.csv"
    for bad in ("0", "11", "nan", "many", ""):
        path.write_text(f"perturbation,setting,participant,rating\na,1,x,5\na,1,y,{bad}\n")
        assert main(["study", "analyze", str(path)]) == 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda found: found["items"][0].update(files=[1, 2]),
        lambda found: found["items"][0].update(files=["a.flac"]),
        lambda found: found["items"][0].update(id=5),
        lambda found: found["items"][0].update(id=found["items"][1]["id"]),
        lambda found: found["items"][0].update(setting=["1"]),
        lambda found: found["items"][0].update(check="maybe"),
        lambda found: found.update(seed=-1),
        lambda found: found.update(each=float("inf")),
    ],
)
def test_a_damaged_study_is_one_line(rated, spoil):
    path = rated.folder / "study.json"
    document = json.loads(path.read_text())
    spoil(document)
    path.write_text(json.dumps(document))
    with pytest.raises(VoxauditError, match="not the description of a study"):
        read_study(rated.folder)


@pytest.mark.parametrize(
    "answer", ["{bad", "[1]", "{}", '{"rating": "x"}', '{"rating": 99}', '{"rating": true}']
)
def test_a_damaged_answer_is_one_line(rated, answer):
    with open_answers(rated.folder) as store:
        store.add("p001", rated.items[0].id, {"rating": 5}, 1)
    with closing(sqlite3.connect(rated.folder / "answers.sqlite")) as base:
        base.execute("update answers set answer = ?", (answer,))
        base.commit()
    with pytest.raises(VoxauditError, match=r"answers\.sqlite"):
        analyze_study(rated)


def test_answers_of_another_program_are_one_line(rated):
    with closing(sqlite3.connect(rated.folder / "answers.sqlite")) as base:
        base.execute("create table answers (a)")
    with open_answers(rated.folder) as store:
        for ask in (store.all, lambda: store.items_of("p001")):
            with pytest.raises(VoxauditError, match="cannot read this database"):
                ask()


def test_nobody_takes_part_without_a_token(rated):
    (rated.folder / "participants.json").write_text('[{"name": "p001", "token": ""}]')
    with pytest.raises(VoxauditError, match="not a list of participants"):
        participants(rated)


def test_what_is_shown_is_said_with_its_numbers():
    own = {"noise": (3, 4, 2, 3, 4, 3), "phone": (0, 1, -1, 0, 1, -1)}
    rows = [
        (name, setting, f"p{who}", float(9 - (lost if setting == "2" else 0)))
        for name, losses in own.items()
        for setting in ("1", "2")
        for who, lost in enumerate(losses)
    ]
    found = analyze_ratings(ratings(rows))
    answer = found.answer()
    noise, phone = (answer.finding(f"study/{name}/drop") for name in own)
    assert (noise.verdict, phone.verdict) == ("shown", "not_shown")
    drop = found.drops[0]
    assert (noise.estimate, noise.low, noise.high, noise.p) == (drop.drop, drop.low, drop.high, drop.p)
    assert noise.p_adjusted == drop.p_adjusted == pytest.approx(2 * drop.p)
    assert f"lose {drop.drop:.2f} points of comprehensibility" in noise.sentence
    assert answer.tables["ratings"]["mean"].to_list() == [cell.mean for cell in found.cells]


def test_who_finds_the_real_recording_is_said_to_and_who_is_all_alike_is_not_judged():
    def heard(right):
        return [
            Judgment(f"pair {pair}", f"p{who}", 0, bool((who + pair) % right), 0.5)
            for who in range(12)
            for pair in range(8)
        ]

    alike = analyze_judgments(heard(2)).answer().finding("study/accuracy")
    known = analyze_judgments(heard(5)).answer().finding("study/accuracy")
    assert (alike.verdict, alike.code, alike.estimate) == ("refused", "undefined", 0.5)
    assert known.verdict == "shown"
    assert known.estimate == pytest.approx(0.8, abs=0.02)
    assert known.sentence.startswith(f"The real recording was found in {100 * known.estimate:.1f} %")
    assert "people tell them apart" in known.sentence


def test_one_setting_has_no_mildest_and_no_strongest(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    path.write_text("perturbation,setting,participant,rating\necho,1,x,5\nphone,,x,7\n")
    assert main(["study", "analyze", str(path)]) == 0
    out = capsys.readouterr().out
    assert "mildest" not in out
    assert "2 ratings by 1 participant of 2 scenarios" in out
    path.write_text("perturbation,setting,participant,rating\necho,1,x,5\necho,2,x,4\nphone,,x,7\n")
    assert main(["study", "analyze", str(path)]) == 0
    out = capsys.readouterr().out
    assert "Degradation from the mildest to the strongest setting" in out
    assert "at the mildest setting" in out


def test_a_study_that_is_refused_leaves_nothing(tmp_path):
    corpus = make_corpus(tmp_path / "corpus")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    refused = [
        {"scenarios": ["clean"]},
        {"scenarios": ["nothing:1"]},
        {"scenarios": ["gain:1"], "utterances": 99},
        {"scenarios": ["gain:1"], "each": 99},  # seen when all files are written
    ]
    for wishes in refused:
        for out in (tmp_path / "new" / "study", tmp_path / "mine"):
            with pytest.raises(VoxauditError):
                create_comprehensibility(corpus, out=out, **wishes)
    with pytest.raises(VoxauditError):
        create_realism(corpus, corpus, pairs=2, each=99, out=tmp_path / "new" / "study")
    assert not (tmp_path / "new").exists()
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
