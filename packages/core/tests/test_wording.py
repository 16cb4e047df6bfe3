"""The sentences that models and people are told."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import pytest

from psych_runtime_core.engine import wording
from psych_runtime_core.errors import Violation
from psych_runtime_core.messages import ToolClass
from psych_runtime_core.records.facts import ToolFailure
from psych_runtime_core.texts import ABORTED, UNKNOWN

HUGE = "x" * 1_000_000

# These are no failures: they stand before or behind another text, or are a question.
NOT_TABLED = {
    "edited",
    "known_answer",
    "approval_question",
    "answer_tool",
    "answer_block",
    "few_left",
    "last_turn",
    "withheld",
}
FAULTS = (Violation("/a", "is missing"),)
# A text, and a piece of each of its parts: what happened, whether again helps, what to do instead.
TEXTS = {
    "unknown_tool": (
        wording.unknown_tool("loook", ["look"]),
        "no tool 'loook'",
        "again does not help",
        "these: look.",
    ),
    "unknown_tool, none": (
        wording.unknown_tool("look", []),
        "no tool",
        "again does not help",
        "without tools",
    ),
    "malformed_arguments": (
        wording.malformed_arguments("Expecting value at character 1", "{,}"),
        "Expecting value at character 1. The arguments are not one JSON object; they begin: '{,}'.",
        "refused again",
        "Send exactly one JSON object",
    ),
    "arguments_too_large": (
        wording.arguments_too_large(9, 8),
        "9 bytes, the limit is 8",
        "refused again",
        "smaller",
    ),
    "invalid_arguments": (
        wording.invalid_arguments(["a: must be an integer", "b: is missing"]),
        "a: must be an integer; b: is missing.",
        "refused again",
        "Correct them",
    ),
    "access_denied": (
        wording.access_denied("pay", "Not on Sundays"),
        "Not on Sundays.",
        "Do not try",
        "without it",
    ),
    "address_denied": (
        wording.address_denied("pay"),
        "may not be reached from here. It is not allowed for the tool 'pay', so the call was not sent.",
        "again does not help",
        "without it",
    ),
    "budget_exhausted": (wording.budget_exhausted(), "budget", "No further call", "Answer with what"),
    "filtered_call": (wording.filtered_call(), "content filter", "filtered again", "other words"),
    "denied": (
        wording.denied("Too much!"),
        "Too much! A person refused",
        "Do not ask for the same",
        "another way",
    ),
    "approval_stale": (wording.approval_stale(), "changed since", "again can help", "once more"),
    "failure_streak": (
        wording.failure_streak("pay", 3),
        "'pay' failed 3 times",
        "does not help",
        "another way",
    ),
    "repeated_call": (
        wording.repeated_call(2),
        "same answer 2 times",
        "will not change",
        "Go on with the answer",
    ),
    "too_many_calls": (wording.too_many_calls(8), "the first 8", "can be called again", "next turn"),
    "truncated_call": (wording.truncated_call(), "cut off", "cut off again", "in parts"),
    "failed": (
        wording.failed("no route", transient=False),
        "no route.",
        "most likely fail",
        "Change something",
    ),
    "failed, transient": (
        wording.failed("busy?", transient=True),
        "busy?",
        "once more may help",
        "another way",
    ),
    "failed, with an effect that may stand": (
        wording.failed("gone", transient=True, may_stand=True),
        "gone.",
        "do not repeat it before you know",
        "Check first",
    ),
    "failed, silent": (
        wording.failed(" ", transient=False),
        "gave no reason",
        "most likely",
        "Change something",
    ),
    "failed_in_a_row": (wording.failed_in_a_row("busy.", 3), "busy.", "3 failures", "Change your approach"),
    "timed_out": (wording.timed_out(2.5), "after 2.5 seconds", "as long again", "less"),
    "result_not_serialisable": (
        wording.result_not_serialisable("/a/0: a set has no JSON form"),
        "/a/0: a set has no JSON form. The tool did run",
        "work again",
        "less",
    ),
    "result_too_large": (
        wording.result_too_large(64),
        "did run, but its result has over 64",
        "again",
        "less",
    ),
    "blob_store_required": (
        wording.blob_store_required(9, 8, "the beginning"),
        "did run, but its result has 9 bytes, and without a blob store at most 8",
        "work again",
        "less. The first part of it:\nthe beginning",
    ),
    "blob_store_away": (
        wording.blob_store_away(9, "the beginning"),
        "did run, but the store that would keep its result of 9 bytes is away",
        "work again",
        "less. The first part of it:\nthe beginning",
    ),
    "result_unkept": (
        wording.result_unkept(9, "the beginning"),
        "did run, but its result of 9 bytes could not be kept",
        "work again",
        "less. The first part of it:\nthe beginning",
    ),
    "blob_missing": (wording.blob_missing("res_1"), "'res_1' is gone", "same way", "without it"),
    "output_away": (wording.output_away("res_1"), "'res_1' cannot be read now", "once more", "another way"),
    "given_up": (wording.given_up(), "did not end", "do not repeat it", "Check first"),
    "answer_too_large": (wording.answer_too_large(9), "record holds (9)", "gives as much", "Ask for less"),
    "empty_response": (wording.empty_response(), "neither text nor a call", "may help", "another model"),
    "retries_spent": (
        wording.retries_spent("busy", 2),
        "busy. The budget of 2 tries again is used up.",
        "new Run may",
        "raise transient_retry_budget",
    ),
    "retry_too_late": (
        wording.retry_too_late("busy", 3_600.0, 3_601.4, 3.04),
        "busy. It asks to wait 3600 s, and the deadline is in 3 s.",
        "new Run may",
        "longer deadline",
    ),
    "retry_too_late, by the pause alone": (
        wording.retry_too_late("busy", None, 0.42, 0.0),
        "busy. The next try would be in 0.4 s, and the deadline is in 0 s.",
        "new Run may",
        "longer deadline",
    ),
    "invalid_prompt": (wording.invalid_prompt(7, "it ends early"), "Record 7", "does not help", "report it"),
    "lane_failure_streak": (wording.lane_failure_streak(6), "6 times in a row", "same way", "Look at"),
    "lane_repeated_call": (
        wording.lane_repeated_call(6),
        "same call 6 times",
        "same way",
        "Change the instr",
    ),
    "lane_budget_exhausted": (wording.lane_budget_exhausted(), "used up", "as many again", "Raise max_turns"),
    "output_truncated": (wording.output_truncated(), "cut off", "cut off again", "Raise the model's"),
    "output_filtered": (wording.output_filtered(), "content filter", "filtered again", "Change the input"),
    "answer_not_alone": (wording.answer_not_alone(), "beside other calls", "refused again", "alone."),
    "answer_refused": (
        wording.answer_refused(FAULTS),
        "schema: /a: is missing.",
        "refused again",
        "call the",
    ),
    "answer_repair": (wording.answer_repair(FAULTS), "fit: /a: is missing.", "sent back again", "once more"),
    "lane_schema_violation": (
        wording.lane_schema_violation(FAULTS),
        "output_schema: /a: is missing.",
        "same way",
        "Simplify",
    ),
    "lane_schema_violation, by a call": (
        wording.lane_schema_violation(),
        "output_schema.",
        "same way",
        "Simplify",
    ),
    "lane_refusal": (wording.lane_refusal(), "refused to answer", "same way", "Read its words"),
    "deadline": (wording.deadline(), "deadline passed", "from the start", "longer deadline"),
    "suspension_expired": (wording.suspension_expired(), "expired", "no longer taken", "Dispatch one"),
    "bad_input": (
        wording.bad_input("/a: is missing"),
        "input_schema: /a: is missing.",
        "refused again",
        "that fits",
    ),
    "run_denied": (wording.run_denied("Closed"), "Closed. The Policy", "does not help", "Ask whoever"),
    "erased": (wording.erased(), "erased", "cannot go on", "Dispatch a new Run"),
    "force_settled": (wording.force_settled(), "would not end", "may stand", "Check what became"),
    "attempts_exhausted": (wording.attempts_exhausted(3), "died 3 times", "same way", "dispatch a new Run"),
    "attempt_failed": (wording.attempt_failed(), "error inside", "same way", "Report it"),
    "store_lost_entries": (
        wording.store_lost_entries(9, 7),
        "to seq 9 and ends at 7",
        "cannot go on",
        "Check its",
    ),
    "http_error": (
        wording.http_error("503 Service Unavailable", "try later", transient=True),
        "answered 503 Service Unavailable. It said: try later.",
        "once more may help",
        "another way",
    ),
    "http_error, with nothing said": (
        wording.http_error("404 Not Found", " ", transient=False),
        "answered 404 Not Found.",
        "fail again",
        "Change something",
    ),
    "http_error, of what may be done": (
        wording.http_error("500 Internal Server Error", "", transient=True, may_stand=True),
        "answered 500 Internal Server Error.",
        "may have taken effect",
        "Check first",
    ),
    "http_redirect": (
        wording.http_redirect("302 Found", "https://elsewhere.example:443"),
        "302 Found, which leads to https://elsewhere.example:443",
        "answered like that again",
        "address has moved",
    ),
    "no_reply": (wording.no_reply(2.5), "no whole reply within 2.5 seconds.", "once more", "another way"),
    "no_reply, of what may be done": (
        wording.no_reply(2.5, may_stand=True),
        "no whole reply within 2.5 seconds.",
        "do not repeat it",
        "Check first",
    ),
    "reply_failed": (
        wording.reply_failed("nothing came for 5 s", reached=True, sent=True),
        "The tool's server gave no whole reply: nothing came for 5 s. The request may have been delivered.",
        "once more",
        "another way",
    ),
    "reply_failed, of a server out of reach": (
        wording.reply_failed("Connection refused", reached=False, sent=False),
        "The tool's server could not be reached: Connection refused. Nothing was sent.",
        "once more",
        "another way",
    ),
    "reply_failed, of what may be done": (
        wording.reply_failed("cut", reached=True, sent=True, may_stand=True),
        "no whole reply: cut.",
        "do not repeat it",
        "Check first",
    ),
    "credential_not_found": (
        wording.credential_not_found("crm"),
        "'crm'",
        "again does not help",
        "Tell the user",
    ),
    "credential_unsendable": (
        wording.credential_unsendable("crm", "it is empty"),
        "'crm', which the tool needs, cannot be sent: it is empty. Nothing was sent.",
        "again does not help",
        "Tell the user",
    ),
    "credential_unavailable": (
        wording.credential_unavailable("crm", "VaultSealed", transient=False),
        "'crm' could not be looked up: VaultSealed. Nothing was sent.",
        "fail again",
        "Change something",
    ),
    "too_many_files": (wording.too_many_files(512), "did run", "ends the same way", "Ask it for less"),
    "aborted": (ABORTED, "stopped before its end", "again may do", "Check what was done"),
    "unknown": (UNKNOWN, "its end was not seen", "Do not repeat", "Check first"),
}


@pytest.mark.parametrize(("text", "happened", "again", "instead"), TEXTS.values(), ids=TEXTS.keys())
def test_a_text_says_what_happened_whether_again_helps_and_what_to_do_instead(
    text: str, happened: str, again: str, instead: str
) -> None:
    places = [text.find(happened), text.find(again), text.find(instead)]
    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("text", [row[0] for row in TEXTS.values()], ids=TEXTS.keys())
def test_no_text_leaks_what_lies_inside(text: str) -> None:
    assert not re.search(
        r"Traceback|psych_runtime|pydantic|asyncio|\w+Error\b|<class|<.* at 0x|/(usr|home|work)/", text
    )


def test_every_sentence_stands_in_the_table() -> None:
    public = {
        name
        for name, made in vars(wording).items()
        if inspect.isfunction(made) and made.__module__.startswith(wording.__name__)
    }
    assert public - NOT_TABLED == {name.split(",")[0] for name in TEXTS} - {"aborted", "unknown"}


@pytest.mark.parametrize(
    ("tell", "ends"),
    [
        pytest.param(lambda: wording.unknown_tool(HUGE, ["look"]), "look.", id="name"),
        pytest.param(lambda: wording.unknown_tool("\ud800\x00", ["n" * 64] * 99), ".", id="names"),
        pytest.param(lambda: wording.malformed_arguments(HUGE, HUGE), "schema.", id="fault and raw"),
        pytest.param(lambda: wording.invalid_arguments([HUGE] * 30), "schema.", id="faults"),
        pytest.param(lambda: wording.access_denied(HUGE, HUGE), "cannot.", id="reason of a Policy"),
        pytest.param(lambda: wording.denied(HUGE), "cannot do.", id="reason of a person"),
        pytest.param(lambda: wording.failed(HUGE, transient=True), "another way.", id="message"),
        pytest.param(
            lambda: wording.failed_in_a_row(wording.failed(HUGE, transient=False), 3),
            "approach.",
            id="message in a row",
        ),
        pytest.param(lambda: wording.result_not_serialisable(HUGE), "less.", id="place"),
        pytest.param(lambda: wording.http_error("200", HUGE, transient=False), "way.", id="reply"),
        pytest.param(lambda: wording.blob_store_required(1, 1, HUGE), "… [truncated]", id="preview"),
        pytest.param(lambda: wording.bad_input(HUGE), "that fits.", id="violations"),
        pytest.param(
            lambda: wording.approval_question(HUGE, ToolClass.WRITE, HUGE), "… [truncated]", id="question"
        ),
    ],
)
def test_a_text_of_any_length_is_kept_with_its_advice(tell: Callable[[], str], ends: str) -> None:
    text = tell()
    assert ToolFailure(kind="any", message=text).message == text
    assert text.endswith(ends)


def test_an_unknown_tool_is_answered_with_the_twenty_nearest_names() -> None:
    names = [f"tool_{n}" for n in range(40)] + ["serch"]
    shown = wording.unknown_tool("search", names).partition("these: ")[2].rstrip(".").split(", ")
    assert shown[0] == "serch"
    assert len(shown) == 20


def test_the_first_twenty_faults_are_shown_and_that_there_are_more() -> None:
    text = wording.invalid_arguments([f"f{n}: is missing" for n in range(23)])
    assert "f19: is missing; and more." in text
    assert "f20" not in text


@pytest.mark.parametrize("tell", [wording.denied, wording.run_denied, lambda: wording.access_denied("pay")])
def test_a_reason_may_be_missing(tell: Callable[[], str]) -> None:
    assert tell()[0].isupper()


def test_an_approval_is_a_question_that_names_the_tool_its_class_and_the_reason() -> None:
    question = wording.approval_question("pay", ToolClass.DESTRUCTIVE, "Over 500 EUR")
    assert question == "May 'pay' (destructive) run with these arguments? Over 500 EUR."


def test_edited_arguments_are_told_whole_before_the_result() -> None:
    told = wording.edited({"b": 1, "a": "é"})
    assert told.startswith('A person changed the arguments of this call to {"a":"é","b":1}.')


def test_a_known_answer_is_told_again_up_to_its_first_part() -> None:
    assert wording.known_answer("42").endswith(": 42")
    assert len(wording.known_answer(HUGE)) < 2_100
