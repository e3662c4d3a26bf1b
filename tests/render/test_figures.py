"""Figures as files of their own."""

from __future__ import annotations

import builtins
import re
from xml.etree import ElementTree

import pytest
from sample_report import hostile_report, sample_report

from voxaudit.answer import Answer
from voxaudit.errors import VoxauditError
from voxaudit.render.figures import figure_svg, heat_limits
from voxaudit.render.figures.svg import Picture, below, beside

SVG = "{http://www.w3.org/2000/svg}"


def figures(report):
    return [figure for chapter in report.chapters for answer in chapter.answers for figure in answer.figures]


@pytest.mark.parametrize("make", [sample_report, hostile_report])
def test_every_figure_stands_alone(make):
    for figure in figures(make()):
        svg = figure_svg(figure)
        svg.encode()
        root = ElementTree.fromstring(svg)
        tags = {node.tag.removeprefix(SVG) for node in root.iter()}
        assert not tags & {"script", "image", "a", "foreignObject", "use"}
        assert not any(
            name.startswith("on") or name.endswith("href") for node in root.iter() for name in node.attrib
        )
        style = root.find(f"{SVG}style").text
        assert "var(" not in style
        assert "url" not in style
        selectors = [one for rule in re.findall(r"([^{}]+)\{", style) for one in rule.split(",")]
        assert selectors
        assert all(one.strip().startswith(".voxaudit-figure ") for one in selectors)
        width, height = float(root.get("width")), float(root.get("height"))
        assert 300 < width < 5000
        assert 40 < height < 5000


def classes(svg, name):
    return len(re.findall(rf'class="[^"]*\b{name}\b', svg.split("</style>")[1]))


def test_pictures_show_what_the_page_shows():
    by_id = {figure.id: figure_svg(figure) for figure in figures(sample_report())}
    assert classes(by_id["ratios"], "est shown") == 4 + 1  # and one in the legend
    assert "a difference is shown" in by_id["ratios"]
    assert "1.62 (1.19 to 2.21)" in by_id["ratios"]
    heat = by_id["heat-moonshine"]
    assert heat.count("severity</tspan>") == 6 * 3  # blocks by measures
    assert "Added, by difficulty" in heat
    assert "better than clean" in heat
    assert by_id["curves"].count("panel-title") == 25 + 1  # and the rule of the style
    assert "Up: WER. Across: severity." in by_id["curves"]
    assert len(re.findall(r'fill="url\(#p-1\)"', by_id["violations"])) == 4 + 1
    assert classes(by_id["scatter"], "mark") == 80 + 2
    assert "<desc>Recordings with more moments" in by_id["scatter"]


def test_plot_writes_what_the_ending_says(tmp_path):
    pytest.importorskip("resvg_py")
    (answer,) = sample_report().chapters[1].answers
    first = answer.plot()
    assert first.svg == answer.plot("ratios", tmp_path / "a.SVG").svg == first._repr_svg_()
    assert (tmp_path / "a.SVG").read_text(encoding="utf-8") == first.svg
    answer.plot(path=tmp_path / "a.png")
    content = (tmp_path / "a.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    width = int.from_bytes(content[16:20], "big")
    assert width == 2 * float(re.search(r'width="([\d.]+)"', first.svg)[1])
    with pytest.raises(VoxauditError, match=r"a\.pdf: a figure is written as \.svg or \.png"):
        answer.plot(path=tmp_path / "a.pdf")
    with pytest.raises(VoxauditError, match="no figure 'x'; there are: ratios"):
        answer.plot("x")
    with pytest.raises(VoxauditError, match="this answer of accuracy has no figure"):
        Answer("accuracy", "A").plot()


def test_a_missing_package_names_its_extra(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "resvg_py":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    (answer,) = sample_report().chapters[1].answers
    with pytest.raises(VoxauditError, match=r"pip install 'voxaudit\[plot\]'"):
        answer.plot(path=tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_without_a_font_letters_are_not_left_out_silently(tmp_path, monkeypatch):
    resvg_py = pytest.importorskip("resvg_py")
    real = resvg_py.svg_to_bytes
    monkeypatch.setattr(resvg_py, "svg_to_bytes", lambda **options: real(**options, skip_system_fonts=True))
    (answer,) = sample_report().chapters[1].answers
    with pytest.raises(VoxauditError, match="no font was found"):
        answer.plot(path=tmp_path / "a.png")


def test_pictures_are_put_together():
    one, two = Picture(100, 20, "<a/>"), Picture(60, 40, "<b/>")
    stacked = below([one, two], 10)
    assert (stacked.width, stacked.height) == (100, 70)
    assert '<g transform="translate(0 30)"><b/></g>' in stacked.body
    row = beside([one, two, one], 2, 10)
    assert (row.width, row.height) == (210, 40 + 10 + 20)
    assert '<g transform="translate(110 0)"><b/></g>' in row.body


def test_ramps_end_at_round_numbers():
    assert heat_limits(figures(sample_report()))["wer"] == 1.0
