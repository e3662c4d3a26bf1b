"""Every service over real HTTP on this machine: what is sent, what comes back, and every way to fail."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest
from fake_services import AWS_ID, BUCKET, KEY, SETTINGS, TOKEN, VARIABLES, FakeClock, Fakes, form, query

from voxaudit.audio import Audio
from voxaudit.recognize import RecognizerError, Transcript, UtteranceError, Word, make_recognizer, settings_of
from voxaudit.recognize.check import check_recognizer
from voxaudit.recognize.services.gate import Clock

VENDORS = list(SETTINGS)
JOBS = ["assemblyai", "speechmatics", "gladia", "revai"]
SHORTEST = {"aws": 8000, "assemblyai": 3200, "revai": 32000}
"""Samples that silence fills a recording up to, where it is not 1600."""
CLIP = Audio(np.linspace(-0.5, 0.5, 16000, dtype=np.float32), 16000)


def said(vendor, samples=16000):
    return f"heard {max(samples, SHORTEST.get(vendor, 1600))} samples"


@pytest.fixture
def fakes(monkeypatch):
    for variable, value in VARIABLES.items():
        monkeypatch.setenv(variable, value)
    fakes = Fakes()
    yield fakes
    fakes.close()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def hear(fakes, clock):
    """Return a function that lets a vendor's engine hear clips, without real waiting."""

    def hear(vendor, *clips, **settings):
        recognizer = make_recognizer({"engine": vendor, **fakes.settings(vendor, **settings)})
        return recognizer.client(Clock(clock.now, clock.sleep))(clips or (CLIP,))

    return hear


@pytest.mark.parametrize("vendor", VENDORS)
def test_what_was_said_comes_back(fakes, hear, vendor):
    (answer,) = hear(vendor)
    assert answer.text == said(vendor)
    assert not fakes.stored  # nothing is left at the service


@pytest.mark.parametrize("vendor", VENDORS)
def test_silence_is_an_empty_text(fakes, hear, vendor):
    fakes.say = lambda frames: ""
    assert hear(vendor) == [Transcript("")]


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_sample_is_filled_up_to_what_the_service_takes(fakes, hear, vendor):
    (answer,) = hear(vendor, Audio(np.ones(1, np.float32), 16000))
    assert answer.text == said(vendor, 1)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_batch_is_answered_in_order(hear, vendor):
    clips = [Audio(np.zeros(n, np.float32), 16000) for n in (9000, 8000, 11000, 10000, 12000)]
    answers = hear(vendor, *clips, concurrency=3)
    assert [answer.text for answer in answers] == [said(vendor, len(clip.samples)) for clip in clips]


PASSING = ["429", "429 after", "500", "html", "truncated", "reset", "timeout", "drip"]


def patience(fault):
    """Return seconds to wait for an answer: few only where none comes, or a busy machine seems a dead service."""
    return 0.3 if fault in ("timeout", "drip") else 30


@pytest.mark.slow
@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("vendor", VENDORS)
def test_what_passes_is_asked_again(fakes, hear, clock, vendor, fault):
    fakes.fault = lambda vendor, number: fault if number == 0 else ""
    (answer,) = hear(vendor, timeout=patience(fault))
    assert answer.text == said(vendor)
    assert len([wait for wait in clock.waits if wait >= 0.1]) >= 1
    if vendor not in ("aws", *JOBS):
        assert len(fakes.of(vendor)) == 2 or (patience(fault) < 1 and len(fakes.of(vendor)) > 2)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["429", "500", "truncated", "reset", "timeout"])
@pytest.mark.parametrize("vendor", VENDORS)
def test_patience_ends_with_one_line(fakes, hear, vendor, fault):
    fakes.fault = lambda vendor, number: fault
    (answer,) = hear(vendor, timeout=patience(fault), retries=2)
    assert isinstance(answer, UtteranceError)
    assert str(answer).endswith("after 3 tries")
    assert "\n" not in str(answer)
    asked = len([request for request in fakes.of(vendor) if request[1] != "DELETE"])
    assert asked == 3 or (
        fault == "timeout" and asked < 3
    )  # a client that left early may not have been noted
    if fault != "truncated" or vendor not in (
        "speechmatics",
        "revai",
    ):  # whose job's name was in the lost answer
        assert not fakes.stored


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_refused_key_stops_at_once_and_is_not_repeated(fakes, hear, clock, vendor):
    fakes.fault = lambda vendor, number: "401"
    with pytest.raises(RecognizerError, match=r"HTTP 401 .*the key \*\*\* of ") as caught:
        hear(vendor)
    assert KEY not in str(caught.value)
    assert len(fakes.of(vendor)) == 1
    assert clock.waits == []


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_wrong_key_is_refused_as_the_vendor_does_it(fakes, hear, monkeypatch, vendor):
    for variable in VARIABLES:
        if variable not in ("AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN"):
            monkeypatch.setenv(variable, "another-key-altogether")
    with pytest.raises(RecognizerError, match="HTTP 40") as caught:
        hear(vendor)
    assert "another-key-altogether" not in str(caught.value)
    assert len(fakes.of(vendor)) == 1


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_bad_recording_costs_itself(fakes, hear, vendor):
    fakes.fault = lambda vendor, number: "400" if number == 0 else ""
    (answer,) = hear(vendor)
    assert isinstance(answer, UtteranceError)
    assert re.search("HTTP 400 Bad Request: (Some Words )?cannot decode the audio", str(answer))


@pytest.mark.parametrize("vendor", [v for v in VENDORS if v not in ("aws", "elevenlabs", "gladia", "revai")])
def test_an_error_inside_a_success_is_an_error(fakes, hear, vendor):
    fakes.fault = lambda vendor, number: "error inside"
    (answer,) = hear(vendor, retries=1)
    assert isinstance(answer, UtteranceError)
    assert ("RecognitionStatus is Error" if vendor == "azure" else "overloaded") in str(answer)


@pytest.mark.parametrize("vendor", VENDORS)
def test_another_form_than_documented_is_one_line(fakes, hear, vendor):
    fakes.fault = lambda vendor, number: (200, {"results": 7, "text": 7, "id": "x", "status": "completed"})
    (answer,) = hear(vendor)
    assert isinstance(answer, UtteranceError)
    assert "\n" not in str(answer)


@pytest.mark.parametrize("vendor", VENDORS)
def test_endless_answers_are_cut(fakes, hear, vendor):
    fakes.fault = lambda vendor, number: "huge" if number == 0 else ""
    (answer,) = hear(vendor, timeout=10)
    assert "the answer is larger than 20,000,000 bytes" in str(answer)


@pytest.mark.parametrize("vendor", VENDORS)
def test_redirects_are_not_followed(fakes, hear, vendor):
    fakes.fault = lambda vendor, number: (307, b"", {"Location": f"{fakes.url}/v1/listen"})
    with pytest.raises(RecognizerError, match="It redirects"):
        hear(vendor)
    assert len(fakes.requests) == 1


@pytest.mark.parametrize("vendor", VENDORS)
def test_keys_are_nowhere_but_in_the_environment(fakes, vendor, monkeypatch):
    recognizer = make_recognizer({"engine": vendor, **fakes.settings(vendor)})
    client = recognizer.load()
    access = client.caller.access
    shown = [
        repr(recognizer), str(recognizer.fingerprint()), json.dumps(settings_of(recognizer)),
        repr(vars(client)), repr(vars(client.caller)), repr(access), repr(access.secrets),
    ]  # fmt: skip
    shown.append(str(pickle.dumps(recognizer)))
    assert all(secret not in text for text in shown for secret in (KEY, AWS_ID, TOKEN))
    with pytest.raises(TypeError, match="a key is not pickled"):
        pickle.dumps(access.secrets[0])
    for variable in VARIABLES:
        monkeypatch.delenv(variable)
    outside = {"watson": {"url": "https://api.example.com"}, "azure": {"region": "westeurope"}}
    outside["aws"] = {"bucket": BUCKET}
    with pytest.raises(RecognizerError, match=f"recognizer '{vendor}': .*environment variable [A-Z_]+$"):
        make_recognizer({"engine": vendor, **outside.get(vendor, {})}).load()


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_key_among_the_settings_is_refused(fakes, vendor):
    settings = fakes.settings(vendor)
    with pytest.raises(RecognizerError, match="the setting 'version' holds the key") as caught:
        make_recognizer({"engine": vendor, **settings, "version": f"v1 {KEY}"}).require()
    assert KEY not in str(caught.value)
    for mistaken in (KEY, AWS_ID, "d41d8cd98f00b204e9800998ecf8427e"):
        with pytest.raises(RecognizerError, match="must be the name of an environment variable") as caught:
            make_recognizer({"engine": vendor, **settings, "key_env": mistaken})
        assert mistaken not in str(caught.value)


@pytest.mark.parametrize("vendor", VENDORS)
def test_what_is_billed_and_what_is_remembered(fakes, vendor):
    recognizer = make_recognizer({"engine": vendor, **fakes.settings(vendor)})
    assert recognizer.price_per_minute == 0
    assert recognizer.remote is False  # a server of one's own is not charged for,
    assert make_recognizer(recognizer, price_per_minute=0.01).remote is True  # unless it is
    assert make_recognizer(recognizer, url="https://api.example.com/v1").remote is True
    one, seven = {"google": (15, 15), "aws": (15, 15), "revai": (2, 7)}.get(vendor, (1, 7))
    assert recognizer.billed_seconds(0.01) == one
    assert recognizer.billed_seconds(6.2) == seven
    assert recognizer.billed_seconds(31.0) == (45 if vendor == "google" else 31)
    exact = make_recognizer(recognizer, billing_step=0, billing_minimum=0)
    assert exact.billed_seconds(6.25) == 6.25
    others = {
        "concurrency": 9,
        "timeout": 9,
        "patience": 9,
        "retries": 9,
        "price_per_minute": 9,
        "key_env": "K",
    }
    assert make_recognizer(recognizer, **others).fingerprint() == recognizer.fingerprint()
    assert make_recognizer(recognizer, version="2").fingerprint() != recognizer.fingerprint()
    assert make_recognizer(recognizer, rate=8000).fingerprint() != recognizer.fingerprint()


def test_openai_asks_as_documented(fakes, hear):
    hear("openai", model="m", language="en")
    ((_, method, path, headers, body),) = fakes.requests
    assert (method, path) == ("POST", "/v1/audio/transcriptions")
    assert headers["Authorization"] == f"Bearer {KEY}"
    fields = form(headers, body)
    assert (fields["model"], fields["language"], fields["temperature"]) == (b"m", b"en", b"0")


def test_google_asks_as_documented(fakes, hear):
    (answer,) = hear("google", model="latest_long", language="en-GB")
    assert answer.words[1] == Word("16000", 1.0, 1.9, 0.9)
    assert answer.confidence == pytest.approx(0.8)
    ((_, method, path, headers, body),) = fakes.requests
    assert (method, path) == ("POST", "/v1/speech:recognize")
    assert headers["X-Goog-Api-Key"] == KEY
    assert json.loads(body)["config"] == {
        "encoding": "LINEAR16", "sampleRateHertz": 16000, "audioChannelCount": 1, "languageCode": "en-GB",
        "model": "latest_long", "enableWordTimeOffsets": True, "enableWordConfidence": True,
        "enableAutomaticPunctuation": False, "profanityFilter": False,
    }  # fmt: skip


def test_google_v2_with_a_token(fakes, hear):
    recognizer = "projects/my-project/locations/us-central1/recognizers/_"
    (answer,) = hear("google", recognizer=recognizer, auth="token", model="chirp_2")
    assert answer.words[1] == Word("16000", 1.0, 1.9, 0.9)
    ((_, _, path, headers, body),) = fakes.requests
    assert path == f"/v2/{recognizer}:recognize"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert json.loads(body)["config"]["languageCodes"] == ["en-US"]


def test_the_check_of_recognizers_takes_a_service(fakes, clock):
    recognizer = make_recognizer({"engine": "google", **fakes.settings("google")})
    result = check_recognizer(recognizer, [Audio(np.zeros(n, np.float32), 16000) for n in (5000, 6000, 7000)])
    assert result.passed
    assert result.distinct_answers == 3


def test_google_joins_its_results_and_asks_again_when_told_how_long_to_wait(fakes, hear, clock):
    parts = [("hello there", 0.5), (" and you", 0.75)]
    results = [{"alternatives": [{"transcript": t, "confidence": c}]} for t, c in parts] + [
        {"alternatives": []}
    ]
    busy = {
        "error": {
            "code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "13.5s"}],
        }
    }  # fmt: skip
    fakes.fault = lambda vendor, number: [(429, busy), (200, {"results": results})][number]
    assert hear("google") == [Transcript("hello there and you", (), 0.625)]
    # The one that was refused waits for itself, with jitter; the gate, already open by then, adds nothing.
    assert 13.5 <= sum(clock.waits) <= 14.6


def test_a_recording_that_is_too_long_is_not_sent(fakes, hear):
    long = Audio(np.zeros(16000 * 61, np.float32), 16000)
    for vendor in ("google", "azure"):
        (answer,) = hear(vendor, long)
        assert str(answer) == f"{vendor} takes at most 60 s of audio in a request, not 61.0 s"
    assert fakes.requests == []


def test_azure_short_asks_as_documented(fakes, hear):
    fakes.say = lambda frames: "Dr. Who"
    assert hear("azure", form="lexical") == [Transcript("dr. who", (), 0.9)]
    assert hear("azure") == [Transcript("Dr. Who", (), 0.9)]
    _, method, path, headers, _ = fakes.requests[0]
    assert (method, path.partition("?")[0]) == (
        "POST", "/speech/recognition/conversation/cognitiveservices/v1",
    )  # fmt: skip
    assert query(path) == {"language": "en-US", "format": "detailed", "profanity": "raw"}
    assert headers["Content-Type"] == "audio/wav; codecs=audio/pcm; samplerate=16000"
    assert headers["Ocp-Apim-Subscription-Key"] == KEY


@pytest.mark.parametrize("status", ["NoMatch", "InitialSilenceTimeout", "BabbleTimeout"])
def test_azure_heard_nothing(fakes, hear, status):
    fakes.fault = lambda vendor, number: (200, {"RecognitionStatus": status, "Offset": 0, "Duration": 0})
    assert hear("azure") == [Transcript("")]


def test_azure_says_something_new(fakes, hear):
    fakes.fault = lambda vendor, number: (200, {"RecognitionStatus": "Moonstruck"})
    assert str(hear("azure")[0]) == "azure: RecognitionStatus is Moonstruck"


def test_azure_fast_asks_as_documented(fakes, hear):
    (answer,) = hear("azure", api="fast")
    assert answer == Transcript("heard 16000 samples", (Word("heard 16000 samples", 0.04, 0.36),), 0.93)
    ((_, _, path, headers, body),) = fakes.requests
    assert path == "/speechtotext/transcriptions:transcribe?api-version=2024-11-15"
    definition = json.loads(form(headers, body)["definition"])
    assert definition == {"locales": ["en-US"], "profanityFilterMode": "None"}
    fakes.say = lambda frames: ""
    assert hear("azure", api="fast") == [Transcript("")]


def test_addresses_follow_the_region():
    assert make_recognizer("azure:westeurope").base == "https://westeurope.api.cognitive.microsoft.com"
    assert make_recognizer("azure:westeurope,api=short").base == "https://westeurope.stt.speech.microsoft.com"
    aws = make_recognizer(f"aws:{BUCKET},region=eu-central-1")
    assert aws.base == "https://transcribe.eu-central-1.amazonaws.com"
    assert aws._objects == f"https://{BUCKET}.s3.eu-central-1.amazonaws.com"
    assert make_recognizer("aws:a.b.c")._objects == "https://s3.us-east-1.amazonaws.com/a.b.c"


def test_watson_asks_as_documented(fakes, hear):
    (answer,) = hear("watson", model="en-US_Telephony")
    assert answer.text == "heard 16000 samples"
    assert answer.words[2] == Word("samples", 2.0, 2.5, 0.5)
    assert answer.confidence == pytest.approx(0.96)
    ((_, method, path, headers, _),) = fakes.requests
    assert (method, path.partition("?")[0]) == ("POST", "/v1/recognize")
    assert query(path) == {
        "model": "en-US_Telephony", "timestamps": "true", "word_confidence": "true", "profanity_filter": "false",
        "smart_formatting": "false",
    }  # fmt: skip
    assert headers["X-Watson-Learning-Opt-Out"] == "true"


def test_deepgram_asks_as_documented(fakes, hear):
    (answer,) = hear("deepgram", options="smart_format=true&keyterm=voxaudit%20tool")
    assert answer.words[1] == Word("16000", 1.0, 1.5, 0.9)
    ((_, method, path, headers, _),) = fakes.requests
    assert (method, path.partition("?")[0]) == ("POST", "/v1/listen")
    expected = {"model": "nova-3", "language": "en", "smart_format": "true", "keyterm": "voxaudit tool"}
    assert query(path) == expected
    assert headers["Content-Type"] == "audio/wav"


def test_assemblyai_uploads_orders_looks_and_deletes(fakes, hear):
    (answer,) = hear("assemblyai", disfluencies="true")
    assert answer.words[1] == Word("16000", 1.0, 1.5, 0.9)
    assert answer.confidence == pytest.approx(0.97)
    steps = [(method, path.rpartition("job-")[0] or path) for _, method, path, _, _ in fakes.requests]
    assert steps == [
        ("POST", "/v2/upload"), ("POST", "/v2/transcript"), ("GET", "/v2/transcript/"),
        ("GET", "/v2/transcript/"), ("DELETE", "/v2/transcript/"),
    ]  # fmt: skip
    order = json.loads(fakes.requests[1][4])
    assert order.pop("audio_url").startswith("https://cdn.example/upload/")
    assert order == {
        "speech_models": ["universal-2"], "language_code": "en_us", "punctuate": False, "format_text": False,
        "disfluencies": True, "filter_profanity": False,
    }  # fmt: skip
    hear("assemblyai", keep=True)
    assert len(fakes.stored) == 1


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        ("language_detection cannot be performed on files with no spoken audio.", Transcript("")),
        ("Transcoding failed.", "the job failed: Transcoding failed."),
    ],
)
def test_assemblyai_jobs_that_fail(fakes, hear, error, answer):
    failed = (200, {"id": "x", "status": "error", "error": error})
    fakes.fault = lambda vendor, number: failed if number == 2 else ""
    (given,) = hear("assemblyai")
    assert given == answer or str(given).endswith(str(answer))
    assert not fakes.stored


def test_aws_puts_orders_looks_fetches_and_deletes(fakes, hear):
    (answer,) = hear("aws")
    assert answer.words[1] == Word("16000", 1.04, 1.5, 0.9)
    assert len(answer.words) == 3  # the full stop is no word
    steps = [(method, headers.get("X-Amz-Target", "")) for _, method, _, headers, _ in fakes.requests]
    assert steps == [
        ("PUT", ""), ("POST", "Transcribe.StartTranscriptionJob"), ("POST", "Transcribe.GetTranscriptionJob"),
        ("POST", "Transcribe.GetTranscriptionJob"), ("GET", ""), ("POST", "Transcribe.DeleteTranscriptionJob"),
        ("DELETE", ""),
    ]  # fmt: skip
    order = json.loads(fakes.requests[1][4])
    assert order["Media"]["MediaFileUri"].startswith(f"s3://{BUCKET}/voxaudit/voxaudit-")
    assert (order["LanguageCode"], order["MediaFormat"], order["MediaSampleRateHertz"]) == (
        "en-US",
        "wav",
        16000,
    )


def test_aws_a_job_that_was_started_after_all(fakes, hear):
    """The answer to the order is lost; the second order finds the name taken, by ourselves."""
    fakes.fault = lambda vendor, number: "truncated" if number == 1 else ""
    (answer,) = hear("aws")
    assert answer.text == "heard 16000 samples"
    assert not fakes.stored


@pytest.mark.parametrize(
    ("refusal", "again"),
    [("LimitExceededException", True), ("ThrottlingException", True), ("BadRequestException", False)],
)
def test_aws_refusals_with_http_400(fakes, hear, refusal, again):
    busy = (400, {"__type": refusal, "Message": "not now"})
    fakes.fault = lambda vendor, number: busy if number == 1 else ""
    (answer,) = hear("aws")
    assert isinstance(answer, Transcript) is again
    assert not fakes.stored


def test_aws_jobs_that_fail_or_do_not_end(fakes, hear):
    job = {"TranscriptionJobStatus": "FAILED", "FailureReason": "The media is silent."}
    fakes.fault = lambda vendor, number: (200, {"TranscriptionJob": job}) if number == 2 else ""
    assert str(hear("aws")[0]).endswith("the job failed: The media is silent.")
    job = {"TranscriptionJobStatus": "IN_PROGRESS"}

    def forever(vendor, number):
        looked = fakes.requests[-1][3].get("X-Amz-Target") == "Transcribe.GetTranscriptionJob"
        return (200, {"TranscriptionJob": job}) if looked else ""

    fakes.fault = forever
    assert str(hear("aws", patience=30, poll=7.0)[0]).endswith("the job is in_progress, not done within 30 s")
    assert not fakes.stored


def test_aws_the_transcript_is_not_fetched_in_the_open(fakes, hear):
    job = {
        "TranscriptionJobStatus": "COMPLETED",
        "Transcript": {"TranscriptFileUri": "http://elsewhere.example.com/result?X-Amz-Signature=abc"},
    }
    fakes.fault = lambda vendor, number: (200, {"TranscriptionJob": job}) if number == 2 else ""
    (answer,) = hear("aws")
    assert "not https" in str(answer)
    assert "abc" not in str(answer)


def test_what_could_not_be_deleted_is_a_line_in_the_log(fakes, hear, capfd):
    fakes.fault = lambda vendor, number: "500" if fakes.requests[-1][1] == "DELETE" else ""
    assert hear("assemblyai")[0].text == "heard 16000 samples"
    (line,) = capfd.readouterr().err.splitlines()
    assert line.endswith("the transcript could not be deleted: HTTP 500 something broke")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("google:auth=password", "auth must be one of key, token"),
        ("google:recognizer=mine", "recognizer must be projects/"),
        ("azure", "give the region"),
        ("azure:westeurope,api=slow", "api must be one of short, fast"),
        ("azure:westeurope,form=lexical", "form must be display"),
        ("watson", "give the URL of your instance"),
        ("aws", "give a bucket of yours"),
        (f"aws:{BUCKET},region=Frankfurt", "region must be such as us-east-1"),
        (f"aws:{BUCKET},prefix=a b", "prefix may have"),
        (f"aws:{BUCKET},id_env={AWS_ID}", "id_env must be the name"),
        (f"aws:{BUCKET},poll=0", "poll must be above 0"),
        ("assemblyai:poll=0", "poll must be above 0"),
        ("deepgram:options=api_key=abc", "options holds a key"),
        ("deepgram:url=http://api.deepgram.com", "must be https:// outside your own network"),
        ("deepgram:url=https://api.deepgram.com?x=1", "url must have no"),
        ("deepgram:concurrency=0", "concurrency must be from 1 to 64"),
        ("deepgram:concurrency=1000", "concurrency must be from 1 to 64"),
        ("deepgram:patience=0", "patience must be above 0"),
        ("deepgram:price_per_minute=-1", "price_per_minute must be at least 0"),
    ],
)
def test_mistakes_in_settings(spec, message):
    with pytest.raises(RecognizerError, match=message):
        make_recognizer(spec)


def test_elevenlabs_asks_as_documented(fakes, hear):
    (answer,) = hear("elevenlabs", language="en", options="seed=7")
    assert answer.words[1] == Word("16000", 1.0, 1.5, pytest.approx(0.6065, abs=1e-4))
    assert answer.confidence == pytest.approx(0.6065, abs=1e-4)
    ((_, method, path, headers, body),) = fakes.requests
    assert (method, path, headers["xi-api-key"]) == ("POST", "/v1/speech-to-text", KEY)
    fields = form(headers, body)
    assert fields.pop("file").startswith(b"RIFF")
    assert fields == {
        "model_id": b"scribe_v2", "language_code": b"en", "temperature": b"0", "tag_audio_events": b"false",
        "timestamps_granularity": b"word", "seed": b"7",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("vendor", "steps"),
    [
        ("assemblyai", ["POST /v2/upload", "POST /v2/transcript", "GET ID", "GET ID", "DELETE ID"]),
        ("gladia", ["POST /v2/upload", "POST /v2/pre-recorded", "GET ID", "GET ID", "DELETE ID"]),
        (
            "speechmatics",
            ["POST /v2/jobs", "GET ID", "GET ID", "GET ID/transcript?format=json-v2", "DELETE ID"],
        ),
        ("revai", ["POST /speechtotext/v1/jobs", "GET ID", "GET ID", "GET ID/transcript", "DELETE ID"]),
    ],
)
def test_jobs_are_ordered_looked_at_read_and_deleted(fakes, hear, vendor, steps):
    (answer,) = hear(vendor)
    assert answer.words[1] == Word(said(vendor).split()[1], 1.0, 1.5, 0.9)
    asked = [re.sub(r"/\S+/job-[\w-]+", "ID", f"{method} {path}") for _, method, path, _, _ in fakes.requests]
    assert asked == steps
    assert not fakes.stored
    hear(vendor, keep=True)
    assert len(fakes.stored) == 1
    fakes.fault = lambda vendor, number: (200, {"id": "job-1-9", "status": "rejected"}) if number else ""
    assert isinstance(hear(vendor)[0], UtteranceError)


@pytest.mark.parametrize(
    ("vendor", "where", "order"),
    [
        ("assemblyai", None, {"speech_models": ["universal-2"], "speaker_labels": True}),
        (
            "gladia",
            None,
            {"model": "solaria-1", "language_config": {"languages": []}, "speaker_labels": True},
        ),
        ("speechmatics", "config", {"language": "en", "model": "enhanced", "speaker_labels": True}),
        ("revai", "options", {"transcriber": "machine", "language": "en", "skip_diarization": True}),
    ],
)
def test_orders_are_as_documented(fakes, hear, vendor, where, order):
    hear(vendor, options="speaker_labels=true")
    sent = [(headers, body) for _, method, _, headers, body in fakes.requests if method == "POST"][-1]
    found = json.loads(form(*sent)[where] if where else sent[1])
    found = found.get("transcription_config", found)
    assert {name: found[name] for name in order} == order
    assert found["speaker_labels"] is True


@pytest.mark.parametrize(
    ("vendor", "job", "reason"),
    [
        ("gladia", {"status": "error", "error_code": 415}, "error 415"),
        ("revai", {"status": "failed", "failure": "invalid_media", "failure_detail": "Bad file"}, "Bad file"),
        ("speechmatics", {"job": {"status": "rejected", "errors": [{"message": "too long"}]}}, "too long"),
    ],
)
def test_jobs_that_fail_say_why(fakes, hear, vendor, job, reason):
    fakes.fault = lambda vendor, number: (200, job) if fakes.requests[-1][1] == "GET" else ""
    assert f"the job failed: {reason}" in str(hear(vendor)[0])
    assert not fakes.stored


def test_speechmatics_puts_marks_behind_their_word(fakes, hear):
    def item(text, kind="word", **more):
        return {"type": kind, "start_time": 0, "end_time": 1, "alternatives": [{"content": text}], **more}

    results = [item("Hello"), item(",", "punctuation", attaches_to="previous"), item("you")]
    fakes.fault = lambda v, n: (200, {"results": results}) if "/transcript" in fakes.requests[-1][2] else ""
    (answer,) = hear("speechmatics")
    assert (answer.text, len(answer.words)) == ("Hello, you", 2)


@pytest.mark.parametrize(
    "answer",
    [
        {"text": "yes", "usage": {"type": "duration", "seconds": 1}},  # vLLM
        {"text": "yes", "x_groq": {"id": "req_1"}},  # Groq
        {"text": "yes", "logprobs": None, "usage": None},  # speaches, as OpenAI's newer models
        {
            "text": "yes",
            "task": "transcribe",
            "duration": "1.0",
            "words": None,
            "segments": [],
        },  # vLLM, verbose
    ],
)
def test_servers_with_openais_interface(fakes, hear, answer):
    fakes.fault = lambda vendor, number: (200, answer)
    assert hear("openai", options="vad_filter=false&seed=1") == [Transcript("yes")]
    fields = form(*fakes.requests[0][3:])
    assert (fields["vad_filter"], fields["seed"]) == (b"false", b"1")
