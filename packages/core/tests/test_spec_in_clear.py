"""What looks like a secret in a Spec, which is stored in clear: the parts of its name say so."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from packages.core.tests.specs import SMALL, document, small
from psych_runtime_core.errors import ValidationIssue
from psych_runtime_core.spec.document import read_spec
from psych_runtime_core.spec.validate.run import collect_issues

TOOL: dict[str, Any] = {"kind": "http", "name": "t", "description": "d"}
VALUE = "k3y"


def of_a_query(*queries: str) -> tuple[ValidationIssue, ...]:
    """The issues of a Spec that has a tool for each of `queries`."""
    tools = [
        {**TOOL, "name": f"t{at}", "url": f"https://a.example/b?{query}"} for at, query in enumerate(queries)
    ]
    return collect_issues(read_spec({**SMALL, "tools": tools}))


def of_options(options: dict[str, Any]) -> tuple[ValidationIssue, ...]:
    """The issues of a Spec whose model has `options`, below one that all may have."""
    return collect_issues(small(model={"model": "m", "options": {"a": options}}))


SECRETS = (
    *("token", "Token", "TOKEN", "token1", "authtoken", "accessToken", "access_token", "api_token"),
    *("auth-token", "bearer_token", "id_token", "IDToken", "idtoken", "refresh_token", "session_token"),
    *("x-amz-security-token", "PRIVATE-TOKEN", "private_token", "bot_token", "hf_token", "X-Vault-Token"),
    *("azure_ad_token", "csrf_token", "api_key", "apiKey", "APIKey", "apikey", "API KEY", "api.key"),
    *("api_key[]", "x-api-key", "api_key_2", "private_key", "access_key", "aws_secret_access_key"),
    *("secretKey", "auth_key", "master-key", "signing_key", "encryptionKey", "AccountKey"),
    *("DD-APPLICATION-KEY", "Ocp-Apim-Subscription-Key", "secret", "client_secret", "clientSecret"),
    *("clientsecret", "password", "user_password1", "PASSWORD", "passwd", "db_pwd", "passphrase"),
    *("key-passphrase", "Authorization", "proxy-authorization", "Cookie", "set-cookie"),
    *("vertex_credentials", "jwt", "sig", "developer_token", "ToKen", "PassWord", "pASSWORD", "aPiKeY"),
    *("xapikey", "openaiapikey", "awssecretaccesskey", "sharedaccesskey", "clientsecretkey"),
)  # fmt: skip
OTHERS = (
    *("eos_token", "bosToken", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token"),
    *("mid_token", "stop_token", "decoder_start_token", "end_token", "special_token", "EosToken"),
    *("eostoken", "valid_token", "invalid_token", "on_invalid_token", "page_token", "nextToken"),
    *("continuation_token", "cost_per_token", "max_tokens", "stop_token_ids", "token_type", "tokenizer"),
    *("skip_special_tokens", "key", "prompt_cache_key", "public_key", "monkey", "keys", "api_key_name"),
    *("api_keys", "access_key_id", "secret_name", "password_policy", "cookie_policy", "cookies", "auth"),
    *("credential", "authorization_url", "signature", "1", "", "_", "é"),
)  # fmt: skip


@pytest.mark.parametrize("name", SECRETS, ids=ascii)
def test_a_text_under_such_a_name_is_a_secret(name: str) -> None:
    (of_an_option,) = of_options({name: VALUE})
    assert (of_an_option.code, of_an_option.path) == ("literal_secret", f"/model/options/a/{name}")
    (of_a_url,) = of_a_query(f"{quote(name)}={VALUE}")
    assert (of_a_url.code, of_a_url.path) == ("literal_secret", "/tools/0/url")


@pytest.mark.parametrize("name", OTHERS, ids=ascii)
def test_a_text_under_another_name_is_none(name: str) -> None:
    assert of_options({name: VALUE}) == ()
    assert of_a_query(f"{quote(name)}={VALUE}") == ()


@pytest.mark.parametrize(
    "value",
    [
        *("", "0", "1", "false", "no", "none", "off", "on", "true", "yes", "TRUE", "No"),
        *("<s>", "<|end|>", "[MASK]", None, True, 5, 0.5),
        *([1, 2], ["a"], {"type": "string"}),
    ],
    ids=str,
)
def test_what_counts_or_chooses_is_no_secret_whatever_its_name(value: object) -> None:
    assert of_options({"api_key": value, "token": value}) == ()


@pytest.mark.parametrize("value", ["10", "truely", "<s", "s>", "a<s>", "[MASK", "k<s>\n"], ids=ascii)
def test_no_more_than_that_is_a_choice(value: str) -> None:
    assert len(of_options({"api_key": value})) == 1


@pytest.mark.parametrize(
    ("options", "place"),
    [
        pytest.param({"extra_headers": {"PRIVATE-TOKEN": VALUE}}, "extra_headers/PRIVATE-TOKEN", id="deeper"),
        pytest.param({"a": [1, [{"password": VALUE}]]}, "a/1/0/password", id="in lists"),
        pytest.param({"password": {"token": VALUE}}, "password/token", id="below such a name"),
    ],
)
def test_an_option_is_looked_at_however_deep_it_is(options: dict[str, Any], place: str) -> None:
    (issue,) = collect_issues(read_spec(document("model/options", options)))
    assert (issue.code, issue.path) == ("literal_secret", f"/model/options/{place}")
    name = place.rpartition("/")[2]
    assert issue.message.startswith(f"{name} looks like a secret")
    assert "give it to the model client" in issue.message
    assert VALUE not in issue.message


def test_the_query_of_each_tool_is_looked_at_and_its_key_is_told_as_it_stands_there() -> None:
    issues = of_a_query("a=b", f"a=b&API%2Dkey={VALUE}", f"password={VALUE}{{x}}&token={VALUE}")
    assert [(issue.code, issue.path) for issue in issues] == [
        ("literal_secret", "/tools/1/url"),
        ("literal_secret", "/tools/2/url"),
        ("literal_secret", "/tools/2/url"),
    ]
    keys = [issue.message.split(" of its query looks like a secret")[0] for issue in issues]
    assert keys == ["API%2Dkey", "password", "token"]
    assert all("`credential`" in issue.message and VALUE not in issue.message for issue in issues)


@pytest.mark.parametrize("query", ["token={x}", "password", "token=", "key=a&page_token=first"])
def test_a_query_may_be_filled(query: str) -> None:
    assert of_a_query(query) == ()


def test_what_is_no_http_tool_has_no_query() -> None:
    assert collect_issues(small(tools=[{"kind": "code", "name": "t"}])) == ()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["a", "A", "aA", "_", "key", "<"])
def test_a_very_long_name_and_value_are_read_once(piece: str) -> None:
    assert of_options({piece * 100_000 + "_": piece * 100_000}) == ()
