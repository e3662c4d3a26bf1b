"""The study in the browser: one page that asks one question at a time and goes on where somebody left off."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from voxaudit.review.study.study import (
    CONFIDENCES,
    HIGHEST,
    LOWEST,
    QUESTIONS,
    Answers,
    Item,
    Participant,
    Study,
)
from voxaudit.review.web import Authorize, Handler, HttpError, Request, Response, asset, json_response

_ASSETS = {"/": "study.html", "/study.css": "study.css", "/study.js": "study.js"}


def by_link(people: Sequence[Participant]) -> Authorize:
    """Return an `authorize` that knows each participant by the token of their link."""

    def authorize(token: str) -> str | None:
        given = token.encode("utf-8", "replace")
        # Everybody is compared, so that the time says nothing about who it was.
        matches = [one.name for one in people if secrets.compare_digest(given, one.token.encode())]
        return matches[0] if matches else None

    return authorize


def study_app(study: Study, people: Sequence[Participant], answers: Answers) -> Handler:
    """Return the app that asks the questions of a study."""
    numbers = {one.name: number for number, one in enumerate(people)}
    orders: dict[str, list[Item]] = {}

    def order_of(who: str) -> list[Item]:
        if who not in orders:
            orders[who] = study.order_for(numbers[who])
        return orders[who]

    def handle(request: Request) -> Response:
        if request.method in ("GET", "HEAD"):
            if request.path in _ASSETS:
                return asset("voxaudit.review.study", _ASSETS[request.path])
            if request.path == "/api/state":
                return json_response(_state(study, order_of(request.who), answers, request.who))
            if request.path.startswith("/audio/"):
                return _sound(study, numbers, order_of(request.who), request)
        elif request.path == "/api/answer":
            return _answer(study, numbers, order_of(request.who), answers, request)
        raise HttpError(404, "there is nothing here")

    return handle


def _state(study: Study, order: list[Item], answers: Answers, who: str) -> dict[str, Any]:
    done = answers.items_of(who)
    following = next((item for item in order if item.id not in done), None)
    return {
        "kind": study.kind,
        "question": QUESTIONS[study.kind],
        "lowest": LOWEST,
        "highest": HIGHEST,
        "confidences": list(CONFIDENCES),
        "total": len(order),
        "done": sum(item.id in done for item in order),
        "item": None if following is None else following.id,
    }


def _sound(study: Study, numbers: dict[str, int], order: list[Item], request: Request) -> Response:
    parts = request.path.split("/")
    item = next((one for one in order if len(parts) == 4 and one.id == parts[2]), None)
    if item is None or parts[3] not in ("a", "b"):
        raise HttpError(404, "there is no such recording")
    place = (0 if parts[3] == "a" else 1) ^ study.swapped(numbers[request.who], item)
    path = study.folder / "audio" / item.files[place]
    if path.is_symlink():  # a study made elsewhere must not show participants what lies outside of it
        raise HttpError(404, "the sound file is a link to another")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HttpError(404, "the sound file is missing") from error
    return Response(200, content, "audio/flac", ranges=True)


def _answer(
    study: Study, numbers: dict[str, int], order: list[Item], answers: Answers, request: Request
) -> Response:
    document = request.json()
    item = next((one for one in order if one.id == document.get("item")), None)
    if item is None:
        raise HttpError(400, "this question is not one of yours")
    plays = document.get("plays")
    if not isinstance(plays, int) or isinstance(plays, bool) or not 0 <= plays <= 10_000:
        raise HttpError(400, "plays must be a whole number")
    if study.kind == "comprehensibility":
        answer = {"rating": _whole(document, "rating", LOWEST, HIGHEST)}
    else:
        heard = _whole(document, "choice", 0, 1)
        choice = heard ^ study.swapped(numbers[request.who], item)
        answer = {"choice": choice, "confidence": _whole(document, "confidence", 0, len(CONFIDENCES) - 1)}
    answers.add(request.who, item.id, answer, plays)
    return json_response(_state(study, order, answers, request.who))


def _whole(document: dict[str, Any], name: str, least: int, most: int) -> int:
    value = document.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise HttpError(400, f"{name} must be a whole number from {least} to {most}")
    return value
