"""What scenarios do, in words: from what the perturbations say of themselves, never from docstrings."""

import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest

from voxaudit.perturb import PERTURBATIONS, SUITES, Perturbation
from voxaudit.perturb.describe import aside, describe_perturbation, in_short, in_words
from voxaudit.perturb.scenario import parameters


@dataclass(frozen=True)
class Quiet(Perturbation):
    """Make it quiet."""

    name: ClassVar[str] = "quiet"
    family: ClassVar[str] = "level"
    severities = ({"db": 6.0},)

    db: float

    def __call__(self, samples, rate, generator):
        return samples


@dataclass(frozen=True)
class Odd(Quiet):
    does: ClassVar[str] = "Take {decibels} off"


@dataclass(frozen=True)
class Good(Quiet):
    does: ClassVar[str] = "Take {db:.1f} dB off, 1/{db.inverse:g} of it (Nobody 2020)"


@pytest.fixture
def plug_in(monkeypatch):
    def install(kind: type[Perturbation]) -> None:
        load = PERTURBATIONS.load
        monkeypatch.setattr(PERTURBATIONS, "load", lambda name: kind if name == "quiet" else load(name))

    return install


@pytest.mark.parametrize("name", PERTURBATIONS.names())
def test_every_perturbation_says_what_it_does(name):
    kind = PERTURBATIONS.load(name)
    listed = describe_perturbation(name, kind)
    assert len(kind.does) > 20
    assert not kind.does.endswith(".")
    assert set(kind.units) <= {field.name for field in parameters(kind)}
    assert "{" not in listed
    for field in kind.severities[0] if kind.severities else ():
        assert f"`{field}`" in listed, "the setting is what a reader asks for"


def test_settings_are_filled_in_over_defaults():
    assert in_words("bass:2") == "Boost what lies below 100 Hz by 30 dB: a boomy loudspeaker."
    assert in_words("bass:gain=7,frequency=80") == "Boost what lies below 80 Hz by 7 dB: a boomy loudspeaker."
    assert in_words("scale:theta=0.8").endswith("1.25 times longer and lower in pitch.")
    assert (
        in_short("gaussian_noise:9") == "White Gaussian noise at snr dB: a hissing line or a cheap microphone"
    )
    assert describe_perturbation("scale", PERTURBATIONS.load("scale")) == (
        "Play the same samples at `theta` times the rate: `1/theta` times longer and lower in pitch (AequeVox)."
    )


def test_natural_and_clean_speech_have_words_too():
    assert in_words("clean") == "The recording as it is."
    assert in_words("far_field_ami") == "Conversation, microphone across the room."
    assert aside("clean") == aside("unheard_of:3") == in_words("unheard_of:3") == ""


@pytest.mark.parametrize("kind", [Quiet, Odd])
def test_a_plug_in_that_says_nothing_or_nonsense_is_called_by_its_name(plug_in, kind):
    plug_in(kind)
    assert in_words("quiet:1") == "quiet."
    assert aside("quiet:1") == ""
    assert describe_perturbation("quiet", kind) == "quiet."


def test_a_plug_in_speaks_for_itself(plug_in):
    plug_in(Good)
    assert in_words("quiet:1") == "Take 6.0 dB off, 1/0.166667 of it."
    assert aside("quiet:db=4") == " (take 4.0 dB off, 1/0.25 of it)"
    assert describe_perturbation("quiet", Good) == "Take `db` dB off, 1/`1/db` of it (Nobody 2020)."


PROGRAM = """
from voxaudit.perturb import PERTURBATIONS, SUITES
from voxaudit.perturb.describe import describe_perturbation, in_words
from voxaudit.recognize import describe_engines
for name in PERTURBATIONS.names():
    print(describe_perturbation(name, PERTURBATIONS.load(name)))
for id_ in SUITES["srb"].scenarios + SUITES["aequevox"].scenarios:
    print(in_words(id_))
for engine in describe_engines():
    print(engine.name, engine.description)
"""


def test_nothing_depends_on_docstrings():
    """`python -OO` takes docstrings and assertions away and changes no word."""
    said = [
        subprocess.run(
            [sys.executable, *flags, "-c", PROGRAM], capture_output=True, text=True, check=True
        ).stdout
        for flags in ([], ["-OO"])
    ]
    assert said[0] == said[1]
    assert len(said[0].splitlines()) > len(SUITES["srb"].scenarios)
