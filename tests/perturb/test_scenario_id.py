"""What a scenario's id says: one meaning for every audit, for every id of the bank and for any other text."""

from dataclasses import MISSING

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError
from voxaudit.perturb import PERTURBATIONS, SUITES, parse_scenario
from voxaudit.perturb.scenario import parameters
from voxaudit.perturb.scenario_id import (
    is_original,
    places_excluded,
    read_scenario_id,
    read_setting,
    show_setting,
)
from voxaudit.perturb.settings import by_harshness, changes_timing, describe, in_steps
from voxaudit.perturb.suites import SLOTS

NEEDS_A_SOURCE = {"universal"}  # its noise comes from an attack


@pytest.mark.parametrize(
    ("id_", "perturbation", "setting"),
    [
        ("clipping:theta=0.03", "clipping", 0.03),
        ("clipping: Theta = .030", "clipping", 0.03),
        ("gaussian_noise:2", "gaussian_noise", 2.0),
        ("gaussian_noise:snr=2", "gaussian_noise", "snr=2"),
        ("noise:snr=2", "noise", "snr=2"),
        ("rir:room=2,distance=3", "rir", "room=2,distance=3"),
        ("Scale:.5", "Scale", 0.5),
        ("my own", "my own", None),
        ("telephone:", "telephone", None),
        ("hp:theta=", "hp", None),
        ("street:loud", "street", "loud"),
        ("noise:nan", "noise", "nan"),
        ("noise:1e999", "noise", "1e999"),
        (":", "", None),
    ],
)
def test_what_an_id_says(id_, perturbation, setting):
    read = read_scenario_id(id_)
    assert (read.id, read.perturbation, read.setting) == (id_, perturbation, setting)


def test_one_spelling_of_a_setting():
    assert read_scenario_id("drop:theta=25").cell == ("drop", "25")
    assert read_scenario_id("rir").cell == ("rir", "")
    assert {show_setting(read_setting(text)) for text in ("0.60", "theta=.6", 0.6, " theta= 6e-1 ")} == {
        "0.6"
    }
    assert read_setting("-0") == 0.0
    assert show_setting(read_setting("-0")) == "0"
    assert read_setting("0.1234567890123") == read_setting("0.1234567890121")  # shown alike


@pytest.mark.parametrize(
    ("id_", "severity", "values"),
    [
        ("gaussian_noise:2", 2, {}),
        ("gaussian_noise:2.0", None, {}),
        ("gaussian_noise:snr=2", None, {"snr": 2.0}),
        ("noise:theta=2", None, {"theta": 2.0}),
        ("rir:room=2, distance=3,kind=hall,other=nan", None, {"room": 2.0, "distance": 3.0}),
        ("noise:1234567890", None, {}),
        ("rir", None, {}),
    ],
)
def test_severity_and_named_numbers(id_, severity, values):
    read = read_scenario_id(id_)
    assert (read.severity, read.values) == (severity, values)


@st.composite
def bank_ids(draw):
    """The ids of any perturbation of the bank: by severity, or with values for its parameters."""
    name = draw(st.sampled_from([name for name in PERTURBATIONS.names() if name not in NEEDS_A_SOURCE]))
    kind = PERTURBATIONS.load(name)
    if kind.severities and draw(st.booleans()):
        return f"{name}:{draw(st.integers(1, len(kind.severities)))}"
    numbers = st.one_of(
        st.integers(0, 100),
        st.floats(0, 1),
        st.floats(-1e6, 1e6, allow_nan=False),
        st.sampled_from([8000, 4]),
    )
    chosen = [field.name for field in parameters(kind) if field.default is MISSING or draw(st.booleans())]
    setting = ",".join(f"{field}={draw(numbers)!r}" for field in draw(st.permutations(chosen)))
    try:
        return parse_scenario(f"{name}:{setting}" if setting else name).id
    except VoxauditError:
        assume(False)  # a value that this perturbation does not take


@given(bank_ids())
def test_every_id_of_the_bank_is_read_back(id_):
    scenario = parse_scenario(id_)
    assert scenario.id == id_
    read = read_scenario_id(id_)
    name, theta = read.cell
    assert name == scenario.perturbation.name
    # Nothing is lost: what an audit prints says which scenario it was.
    plain = theta if "=" in theta or theta.isdecimal() or not theta else f"theta={theta}"
    spelled = [f"{name}:{text}" if text else name for text in (plain, f"theta={theta}")]
    assert id_ in spelled


@given(bank_ids(), bank_ids())
def test_different_scenarios_of_the_bank_have_different_cells(one, other):
    same = read_scenario_id(one).cell == read_scenario_id(other).cell
    assert same == (parse_scenario(one).id == parse_scenario(other).id)


@pytest.mark.parametrize(
    "id_", sorted({*SLOTS, *(id_ for suite in SUITES.values() for id_ in suite.scenarios)})
)
def test_ids_of_suites_and_slots_name_their_perturbation(id_):
    read = read_scenario_id(id_)
    assert read.perturbation == id_.partition(":")[0]
    assert read.setting is None or id_.endswith((f":{show_setting(read.setting)}", f"={read.cell[1]}"))


HOSTILE = st.one_of(
    st.text(),
    st.text(alphabet="theta=:,. \t\n\x00-+0123456789enif_\u0663\ud800"),
    st.integers(0, 3000).map(lambda count: "noise:" + "theta=" * count + "3"),
    st.integers(0, 5000).map(lambda count: "noise:" + "9" * count),
    st.builds(
        "{}:{}{}".format,
        st.sampled_from(["gain", "rir", "noise"]),
        st.text(),
        st.sampled_from(["", "=", "=1"]),
    ),
)


@given(HOSTILE)
def test_no_text_is_too_odd_to_be_an_id(text):
    read = read_scenario_id(text)
    assert read.id == text
    # Read again from what was shown, it is the same: tables that an audit wrote can be its input.
    assert read_setting(show_setting(read.setting)) == read.setting
    assert read_scenario_id(text) == read
    assert is_original(read.perturbation) == (text.partition(":")[0].strip().lower() in ("clean", "original"))


@given(HOSTILE)
@example("gain:a\nb=1")
@example("gain:" + "x" * 5000)
def test_odd_ids_are_refused_in_one_line_or_made(text):
    made, said = None, ""
    try:
        made = parse_scenario(text)
    except VoxauditError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 1200
    assert made is None or parse_scenario(made.id).id == made.id


CELLS = [("Scale", "0.60"), ("Scale", 0.5), ("noise", "snr=2"), ("noise", 2.0), ("telephone", None)]


@pytest.mark.parametrize(
    ("exclude", "places"),
    [
        ([], set()),
        (["scale"], {0, 1}),
        (["SCALE:theta=.6"], {0}),
        (["noise:2", "noise:2.0"], {3}),
        ([" noise : snr=2", "telephone"], {2, 4}),
        (["telephone:"], {4}),
    ],
)
def test_scenarios_and_whole_perturbations_are_excluded(exclude, places):
    assert places_excluded(CELLS, exclude) == places


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("scael:0.6", "called 'scael:0.6'. Did you mean: Scale? Perturbations: Scale, noise, telephone"),
        ("scale:0.7", "called 'scale:0.7': Scale has no such setting. Settings: 0.6, 0.5"),
        ("telephone:1", "called 'telephone:1': telephone has no such setting. Settings: (none)"),
    ],
)
def test_what_is_not_there_cannot_be_excluded(text, words):
    with pytest.raises(VoxauditError) as caught:
        places_excluded(CELLS, [text])
    assert words in str(caught.value)


def test_scenario_ids_are_taken_apart():
    gain = describe("gain:2")
    assert (gain.severity, gain.parameter, gain.value, gain.harsher, gain.category) == (
        2,
        "factor",
        20.0,
        1,
        "audio processing",
    )
    assert describe("gaussian_noise:snr=12.5").harsher == -1
    assert describe("babble from the bus").category == "other"
    assert describe("hp:theta=500").category == "filter"
    assert describe("universal:3").attack
    assert by_harshness([describe("mystery:a=1"), describe("mystery:a=2")]) == []


def test_settings_stand_from_mild_to_harsh_and_alone_where_no_order_is_known():
    names = [
        "gaussian_noise:snr=5",
        "mystery:a=2",
        "echo:3",
        "gaussian_noise:snr=20",
        "mystery:a=1",
        "echo:0",
    ]
    steps = in_steps(map(describe, names))
    assert {name: [setting.scenario for setting in some] for name, some in steps.items()} == {
        "gaussian_noise": ["gaussian_noise:snr=20", "gaussian_noise:snr=5"],
        "mystery:a=2": ["mystery:a=2"],
        "mystery:a=1": ["mystery:a=1"],
        "echo": ["echo:0", "echo:3"],
    }


def test_what_changes_timing():
    assert changes_timing("tempo_up:2")
    assert not any(map(changes_timing, ("clean", "gaussian_noise:2", "accented_here", "mystery:3")))
