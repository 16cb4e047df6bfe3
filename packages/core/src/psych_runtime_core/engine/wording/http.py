"""What is told of a call that went out over HTTP."""

from __future__ import annotations

from psych_runtime_core.engine.wording.phrases import quoted, sentence, told
from psych_runtime_core.engine.wording.ran import failed

BODY_SHOWN = 2_000


def http_error(status: str, said: str, *, transient: bool, may_stand: bool = False) -> str:
    """`status` is its number and reason, `said` what the body of the reply reads as."""
    answered = f"The tool's server answered {status}"
    shown = said[:BODY_SHOWN].strip()
    happened = f"{answered}. It said: {shown}" if shown else answered
    return failed(happened, transient=transient, may_stand=may_stand)


def http_redirect(status: str, target: str) -> str:
    """`target` is the origin that the reply leads to."""
    return told(
        f"The tool's server answered {status}, which leads to {target}, and redirects are not followed.",
        "The same call will be answered like that again.",
        "Go on without the tool, or say that its address has moved.",
    )


def address_denied(tool: str) -> str:
    return told(
        "The address it leads to may not be reached from here."
        f" It is not allowed for the tool {quoted(tool)}, so the call was not sent.",
        "Calling it again does not help.",
        "Do the work without it, or say that you cannot.",
    )


def no_reply(seconds: float, *, may_stand: bool = False) -> str:
    """Of a request that was given up after its time."""
    happened = f"The tool's server gave no whole reply within {seconds:g} seconds"
    return failed(happened, transient=True, may_stand=may_stand)


def reply_failed(detail: str, *, reached: bool, sent: bool, may_stand: bool = False) -> str:
    """`detail` is what was seen on the wire, without where it led. `reached`: a connection came about."""
    ended = "gave no whole reply" if reached else "could not be reached"
    delivered = "The request may have been delivered" if sent else "Nothing was sent"
    happened = f"The tool's server {ended}: {sentence(detail)} {delivered}"
    return failed(happened, transient=True, may_stand=may_stand)


def credential_not_found(name: str) -> str:
    return told(
        f"The credential {quoted(name)}, which the tool needs, is not set up, so it could not do its work.",
        "Calling it again does not help before that is done.",
        "Tell the user that it has to be set up.",
    )


def credential_unsendable(name: str, fault: str) -> str:
    """`fault` says what no header can carry, and shows none of it."""
    kept_back = f"The credential {quoted(name)}, which the tool needs, cannot be sent: {sentence(fault)}"
    return told(
        f"{kept_back} Nothing was sent.",
        "Calling it again does not help before it is stored anew.",
        "Tell the user that it has to be.",
    )


def credential_unavailable(name: str, reason: str, *, transient: bool) -> str:
    """`reason` is what kind of error its look-up ended in."""
    looked_up = f"The credential {quoted(name)} could not be looked up: {sentence(reason)} Nothing was sent"
    return failed(looked_up, transient=transient)
