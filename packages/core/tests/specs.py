"""JSON values and Specs to test with: a small one, documents that vary it, and strategies for any."""

import string
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from psych_runtime_core.spec.agent import AgentSpec
from psych_runtime_core.spec.document import read_spec
from psych_runtime_core.spec.model import REQUEST_KEYS
from psych_runtime_core.spec.names import RESERVED_TOOL_NAMES

SMALL: dict[str, Any] = {"kind": "agent", "name": "small", "model": {"model": "m"}}


def document(path: str, value: object) -> dict[str, Any]:
    """The document of a small valid Spec, with `value` at `path` (`model/stop`)."""
    spec: dict[str, Any] = {**SMALL, "model": {"model": "m"}}
    *above, field = path.split("/")
    place = spec
    for name in above:
        place = place.setdefault(name, {})
    place[field] = value
    return spec


def small(**fields: object) -> AgentSpec:
    """A small valid Spec with other fields."""
    return read_spec({**SMALL, **fields})


texts = st.text(max_size=12)
finite = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(-(2**80), 2**80) | st.sampled_from((2**53, 2**63, -(2**80)))


def json_values(text: SearchStrategy[str] = texts) -> SearchStrategy[Any]:
    """Any JSON value of plain containers, its text drawn from `text`."""
    leaves = st.none() | st.booleans() | whole | finite | text
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
        max_leaves=12,
    )


names = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=20).map("t".__add__)
tool_names = names.filter(lambda name: name not in RESERVED_TOOL_NAMES)
prose = st.text(max_size=40).filter(lambda text: "\0" not in text and "\r" not in text)
seconds = st.floats(min_value=0.5, max_value=80_000)
schemas = st.sampled_from([None, {}, {"type": "object"}, {"properties": {"n": {"type": "integer"}}}])


def some_of(**fields: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    """A mapping that holds any part of `fields`."""
    return st.fixed_dictionaries({}, optional=fields)


tools = some_of(kind=st.just("code"), interruptible=st.booleans(), timeout_seconds=st.none() | seconds)
http_tools = st.fixed_dictionaries(
    {
        "kind": st.just("http"),
        "description": prose.filter(bool),
        "url": st.sampled_from(["https://a.example", "http://[::1]:8080/{a}/b-{c}?k={d}&l=m"]),
    },
    optional={
        "method": st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE"]),
        "query": st.lists(names, max_size=3, unique=True),
        "headers": st.dictionaries(st.sampled_from(["Accept", "X-Trace"]), st.just("a {b}")),
        "credential": st.none() | names,
        "annotations": st.lists(st.sampled_from(["write", "destructive"])),
        "safe_to_retry": st.none() | st.booleans(),
        "timeout_seconds": st.floats(0.5, 600),
    },
)
limits = some_of(
    max_turns=st.integers(1, 10_000),
    deadline_seconds=seconds,
    failure_streak_threshold=st.integers(1, 6),
    large_result_bytes=st.integers(1, 16_777_216),
    stream_idle_seconds=st.floats(0, 3_600),
)
models = some_of(
    fallbacks=st.lists(names, max_size=8, unique=True),
    temperature=st.none() | st.floats(0, 2) | st.integers(0, 2),
    reasoning_effort=st.sampled_from([None, "none", "high"]),
    stop=st.lists(st.text(min_size=1, max_size=8), max_size=4),
    options=st.dictionaries(texts.filter(lambda key: key not in REQUEST_KEYS), json_values(), max_size=3),
)


@st.composite
def spec_documents(draw: st.DrawFn) -> dict[str, Any]:
    """The document of any valid agent."""
    granted = draw(st.lists(tool_names, max_size=5, unique_by=str.lower))
    optional = some_of(
        kind=st.just("agent"),
        description=prose,
        instructions=prose,
        limits=limits,
        suspension=some_of(approval_expires_seconds=seconds),
        input_schema=schemas,
    )
    return {
        **draw(optional),
        "name": draw(names),
        "model": {"model": "the model", **draw(models)},
        "tools": [{"name": name, **draw(tools | http_tools)} for name in granted],
    }
