"""Sealed logs, with `--codec` and without: what is told of them, and what is not."""

import sys
from pathlib import Path

import pytest

from packages.core.tests.codecs import SealingCodec
from psych_runtime import Codec, Scope
from psych_runtime.testing import LogBuilder
from tests.kit.command import PSYCH, Psych, run
from tests.kit.logs import store, url_of, whole

CODEC = "tests.kit.logs:codec"
SAID = ("where is it?", "on its way", "and hurry", "It comes.", "parcel")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    address = url_of(tmp_path_factory.mktemp("sealed"))
    store(address, whole(), codec=SealingCodec())
    return address


def test_without_its_codec_a_log_is_told_as_sealed(psych: Psych, url: str) -> None:
    ended = psych("show", "run_test", "--store", url)
    assert ended.code == 0
    assert not [text for text in SAID if text in ended.out]
    conversation = ended.out.split("\nconversation\n")[1]
    assert [line.split(maxsplit=1) for line in conversation.splitlines()[:6]] == [
        ["user", "sealed"],
        ["assistant", "sealed"],
        ["call", "look sealed"],
        ["result", "ok look: sealed"],
        ["steer", "sealed"],
        ["assistant", "sealed"],
    ]
    assert "  answer      sealed" in conversation
    document = psych("show", "run_test", "--store", url, "--records", "--json")
    assert not [text for text in SAID if text in document.out]
    assert document.document()["status"]["lifecycle"] == "done"


def test_with_its_codec_a_log_is_told_whole(psych: Psych, url: str) -> None:
    shown = psych("show", "run_test", "--store", url, "--codec", CODEC).out
    assert not [text for text in SAID if text not in shown]
    assert "sealed" not in shown


def test_what_is_erased_is_told_as_erased(
    psych: Psych, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from packages.core.tests.codecs import SealingCodec as Codec"
    (tmp_path / "our_keys.py").write_text(f"{source}\nkeys = Codec()\nkeys.destroy('acme')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    shown = psych("show", "run_test", "--store", url, "--codec", "our_keys:keys").out
    assert "  answer      erased" in shown
    assert "sealed" not in shown


def test_verbs_that_read_no_body_need_no_codec(psych: Psych, url: str, tmp_path: Path) -> None:
    for verb in (["runs"], ["stats"], ["log", "verify", "--all"], ["doctor"]):
        assert psych(*verb, "--store", url).code == 0
    path, into = tmp_path / "run.jsonl", url_of(tmp_path)
    assert psych("log", "export", "run_test", "--store", url, "-o", str(path)).code == 0
    store(into)
    assert psych("log", "import", str(path), "--store", into).code == 0
    assert "It comes." in psych("show", "run_test", "--store", into, "--codec", CODEC).out


def test_only_an_open_log_is_redacted(psych: Psych, url: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    command = ("log", "export", "run_test", "--store", url, "--redact", "-o", str(path))
    ended = psych(*command)
    assert (ended.code, list(tmp_path.iterdir())) == (2, [])
    assert ended.err.splitlines()[1] == "try: --codec MODULE:NAME"
    assert psych(*command, "--codec", CODEC).code == 0
    assert psych("log", "verify", str(path)).code == 0


class Stranger(SealingCodec):
    """Seals for a tenant of another name."""

    def seal(self, content: bytes, *, scope: Scope, bound: bytes) -> bytes:
        return super().seal(content, scope=Scope(tenant="stranger"), bound=bound)


@pytest.mark.parametrize(
    ("log", "codec", "says"),
    [
        pytest.param(whole(), SealingCodec(), None, id="a sound one"),
        pytest.param(
            whole().edit(7, result="not what it said"),
            SealingCodec(),
            "digests_true: answer_digest",
            id="a lie",
        ),
        pytest.param(whole(), Stranger(), "chain: its content cannot be opened", id="a seal of others"),
    ],
)
def test_with_its_codec_the_content_is_judged_too(
    psych: Psych, tmp_path: Path, log: LogBuilder, codec: Codec, says: str | None
) -> None:
    address, path = url_of(tmp_path), tmp_path / "run.jsonl"
    store(address, log, codec=codec)
    assert psych("log", "export", "run_test", "--store", address, "-o", str(path)).code == 0
    for named in (["--all", "--store", address], [str(path)]):
        assert psych("log", "verify", *named).code == 0
        ended = psych("log", "verify", *named, "--codec", CODEC)
        assert (ended.code, ended.out.split()[0]) == ((3, "bad") if says else (0, "ok"))
        assert (says or "") in ended.out


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("codec", "it is no MODULE:NAME"),
        (":codec", "it is no MODULE:NAME"),
        ("no_such_module_here:codec", "there is no module no_such_module_here"),
        ("tests.no_such.module:codec", "there is no module tests.no_such.module"),
        ("tests.kit.logs:no_such", "tests.kit.logs has no no_such"),
        ("tests.kit.logs:SPEC", "it names a AgentSpec without prepare, seal, open"),
        ("json:loads", "TypeError"),
    ],
)
def test_a_name_that_names_no_codec_is_refused(psych: Psych, url: str, name: str, says: str) -> None:
    ended = psych("runs", "--store", url, "--codec", name)
    assert (ended.code, ended.out) == (1 if says == "TypeError" else 2, "")
    assert says in ended.err.splitlines()[0]


def test_a_class_and_an_object_are_as_good_as_a_function(psych: Psych, url: str) -> None:
    name = "packages.core.tests.codecs:SealingCodec"
    assert "It comes." in psych("show", "run_test", "--store", url, "--codec", name).out


def test_a_module_of_the_present_folder_is_found(url: str, tmp_path: Path) -> None:
    (tmp_path / "our_codec.py").write_text(
        "from psych_runtime import PlainCodec\nclass Ours(PlainCodec):\n    pass\n"
    )
    assert run([PSYCH, "runs", "--store", url, "--codec", "our_codec:Ours"], cwd=tmp_path).code == 0
