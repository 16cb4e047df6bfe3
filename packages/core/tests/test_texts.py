"""What inputs and results read as."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from psych_runtime_core.ids import RunId, ToolCallId, derive_handle
from psych_runtime_core.messages import ImagePart, Media
from psych_runtime_core.records.facts import FailureKind, ResultAttachment, ToolFailure, ToolOutcome
from psych_runtime_core.records.tool import ANSWERED, ToolCallFinished
from psych_runtime_core.texts import ABORTED, UNKNOWN, text_of_input, text_of_result


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        pytest.param({}, "", id="an empty object says nothing"),
        pytest.param({"message": "hi", "input": "no"}, "hi", id="message comes first"),
        pytest.param({"prompt": "p", "text": "t", "input": "i"}, "i", id="then input"),
        pytest.param({"prompt": "p", "text": "t"}, "t", id="then text"),
        pytest.param({"prompt": "p", "other": "o"}, "p", id="then prompt"),
        pytest.param({"message": " \n", "prompt": "p"}, "p", id="a blank text is passed over"),
        pytest.param({"message": "  hi\n"}, "  hi\n", id="a text is kept as it is"),
        pytest.param({"message": 7, "text": "t"}, "t", id="what is no text is passed over"),
        pytest.param({"message": ""}, '{"message":""}', id="nothing but a blank text is JSON"),
        pytest.param({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}', id="else compact, sorted JSON"),
        pytest.param({"a": "é"}, '{"a":"é"}', id="other letters stay readable"),
        pytest.param({"é": "\ud800"}, '{"é":"\ud800"}', id="a lone surrogate makes no escapes of the rest"),
        pytest.param({"message": "a\x00b"}, "a\x00b", id="NUL is text"),
    ],
)
def test_an_input_reads_as(payload: dict[str, Any], text: str) -> None:
    assert text_of_input(payload) == text


PICTURE = ImagePart(media=Media(media_type="image/png", data=b"\x89PNG"))


def file(name: str, data: bytes, content_type: str, slot: int) -> ResultAttachment:
    return ResultAttachment(
        name=name,
        handle=derive_handle(RunId("run_1"), ToolCallId("call_1"), slot),
        content_type=content_type,
        size_bytes=len(data),
        observed_bytes=len(data),
        data=data,
        stored="inline",
        sha256=hashlib.sha256(data).hexdigest(),
    )


FILES = (file("chart.png", b"\x89PNG", "image/png", 0), file("log.txt", b"lines", "text/plain", 1))
TOLD = (
    "[file chart.png: image/png, 4 bytes]",
    f"[file log.txt: text/plain, 5 bytes; its content is not shown, it is kept as {FILES[1].handle}]",
)


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        pytest.param(None, TOLD, id="files alone"),
        pytest.param("as it is ", ("as it is ", *TOLD), id="a text and files"),
        pytest.param({"a": 1}, ('{"a":1}', *TOLD), id="a value and files"),
    ],
)
def test_files_of_a_result_are_told_by_name_type_and_size(result: Any, lines: tuple[str, ...]) -> None:
    told = finished(ToolOutcome.OK, result).model_copy(update={"attachments": FILES, "media": (PICTURE,)})
    assert text_of_result(told) == "\n".join(lines)


def test_a_large_result_is_told_by_size_handle_and_beginning() -> None:
    kept: Any = {"result_handle": "res_1", "result_bytes": 40_000, "preview": "[1,2"}
    text = text_of_result(finished(ToolOutcome.OK, [1, 2, 3]).model_copy(update=kept))
    assert "40000 bytes" in text
    assert "kept whole as res_1: read on with read_tool_output" in text
    assert text.endswith("It begins:\n[1,2")
    assert "3" not in text


def finished(outcome: ToolOutcome, result: Any = None, message: str | None = None) -> ToolCallFinished:
    return ToolCallFinished(
        call_id=ToolCallId("call_1"),
        tool="look",
        turn=1,
        outcome=outcome,
        result=result,
        failure=None
        if message is None
        else ToolFailure(kind=FailureKind.TIMEOUT, message=message, traceback="tb"),
        answer_digest="0" * 64 if outcome in ANSWERED else None,
    )


@pytest.mark.parametrize(
    ("record", "text"),
    [
        pytest.param(finished(ToolOutcome.OK, "as it is "), "as it is ", id="a text is kept as it is"),
        pytest.param(finished(ToolOutcome.OK, ""), "", id="an empty text too"),
        pytest.param(finished(ToolOutcome.OK, None), "null", id="None is null"),
        pytest.param(
            finished(ToolOutcome.OK, {"b": 1.0, "a": "é"}), '{"a":"é","b":1}', id="else compact, sorted JSON"
        ),
        pytest.param(
            finished(ToolOutcome.OK, ["\ud800", "é"]), '["\ud800","é"]', id="surrogates stand as they are"
        ),
        pytest.param(finished(ToolOutcome.ERROR, message="late"), "late", id="an error is its message alone"),
        pytest.param(finished(ToolOutcome.REFUSED, message="no"), "no", id="a refusal too"),
        pytest.param(finished(ToolOutcome.ABORTED), ABORTED, id="aborted has its sentence"),
        pytest.param(finished(ToolOutcome.UNKNOWN), UNKNOWN, id="unknown has its sentence"),
        pytest.param(
            finished(ToolOutcome.UNKNOWN, message="m"), UNKNOWN, id="whatever failure stands beside it"
        ),
    ],
)
def test_a_result_reads_as(record: ToolCallFinished, text: str) -> None:
    assert text_of_result(record) == text
