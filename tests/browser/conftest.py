"""A real browser for the pages that voxaudit makes: no network but this machine, every complaint on record."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
LOCAL = ("127.0.0.1", "localhost", "[::1]")


@dataclass
class Watched:
    """A page and what went wrong on it. `errors`: console errors, exceptions and refusals of the content policy;
    `requests`: every address asked for; `foreign`: those that were not on this machine, and were not answered."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    @property
    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def serious(self) -> list[str]:
        """What axe-core holds to be a serious or critical barrier on the page as it stands."""
        axe = pytest.importorskip(
            "axe_playwright_python.sync_playwright", reason="axe-playwright-python is missing"
        )
        found = axe.Axe().run(self.page).response["violations"]
        return [
            f"{barrier['id']}: {node['target']} {node['failureSummary']}"
            for barrier in found
            if barrier["impact"] in ("serious", "critical")
            for node in barrier["nodes"]
        ]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A running Chromium; tests skip where there is none."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is missing: install voxaudit[browser]"
    )
    program = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    with playwright.sync_playwright() as engine:
        try:
            running = engine.chromium.launch(
                executable_path=program,
                args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required"],
            )
        except playwright.Error as missing:
            pytest.skip(f"no Chromium to test with: {str(missing).splitlines()[0]}")
        yield running
        running.close()


@pytest.fixture
def new_page(browser: Any) -> Iterator[Callable[..., Watched]]:
    """Makes watched pages: `new_page(width=360, scheme="dark", javascript=False)`; closes them after the test."""
    contexts = []

    def make(width: int = 1280, height: int = 800, scheme: str = "light", javascript: bool = True) -> Watched:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
            java_script_enabled=javascript,
            accept_downloads=True,
        )
        contexts.append(context)
        watched = Watched(context.new_page())

        def answer(route: Any) -> None:
            address = urlsplit(route.request.url)
            if address.scheme in ("http", "https", "ws", "wss") and address.hostname not in LOCAL:
                watched.foreign.append(route.request.url)
                route.abort()
            else:
                route.continue_()

        context.route("**/*", answer)
        page = watched.page
        page.on("request", lambda request: watched.requests.append(request.url))
        page.on("pageerror", lambda error: watched.errors.append(str(error)))
        page.on(
            "console",
            lambda message: (
                watched.errors.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        return watched

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def browser_page(new_page: Callable[..., Watched]) -> Watched:
    """One watched page of a desktop's size in the light scheme."""
    return new_page()
