"""A rule that an adapter cannot keep is left out and counted; a suite that is not whole is refused."""

import pytest

pytest_plugins = ["pytester"]

SUITE = """
import pytest

class Rules:
    push = True
    live = True

    def test_anybody_keeps_this(self): pass

    @pytest.mark.needs("push")
    @pytest.mark.parametrize("number", [1, 2])
    def test_this_needs_push(self, number): pass

    @pytest.mark.needs("push")
    @pytest.mark.needs("live")
    def test_this_needs_both(self): pass

class TestAble(Rules): pass

class TestSlow(Rules):
    push = False

class TestOld(TestSlow):
    live = None
"""


def test_a_rule_is_left_out_for_those_alone_who_lack_what_it_needs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    ran = pytester.runpytest_subprocess("-rs", "-p", "no:cacheprovider")
    ran.assert_outcomes(passed=6, skipped=6)
    ran.stdout.fnmatch_lines_random(
        [
            "SKIPPED*left out, since it needs the capability `push`",
            "SKIPPED*left out, since it needs the capability `live`",
            "rules left out: 1 for lack of `live`, 5 for lack of `push`",
        ]
    )


def test_nothing_is_counted_where_nothing_is_left_out(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    ran = pytester.runpytest_subprocess("-rs", "-p", "no:cacheprovider", "-k", "TestAble")
    ran.assert_outcomes(passed=4, deselected=8)
    ran.stdout.no_fnmatch_line("*left out*")


def test_a_capability_that_nobody_has_is_an_error_and_no_skip(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE.replace('needs("live")', 'needs("lvie")'))
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-k", "TestAble")
    ran.assert_outcomes(passed=3, errors=1, deselected=8)
    ran.stdout.fnmatch_lines(["*AttributeError*lvie*"])


LACKING = """
from abc import ABC, abstractmethod
from psych_runtime_contract.egress import EgressContract
from psych_runtime_contract.model import ModelClientContract
from psych_runtime_contract.secrets import SecretContract

class Half(SecretContract):
    def resolver(self): pass

class {name}({base}): pass

def test_beside(): pass
"""


@pytest.mark.parametrize(
    ("base", "told"),
    [
        pytest.param("ModelClientContract", "TestMine of ModelClientContract lacks client()", id="a client"),
        pytest.param("EgressContract", "TestMine of EgressContract lacks policy()", id="a policy"),
        pytest.param(
            "SecretContract", "TestMine of SecretContract lacks put(), resolver()", id="two methods"
        ),
        pytest.param("Half", "TestMine of SecretContract lacks put()", id="what a base lacks"),
    ],
)
def test_a_suite_that_lacks_a_method_is_an_error_of_collection(
    pytester: pytest.Pytester, base: str, told: str
) -> None:
    pytester.makepyfile(LACKING.format(name="TestMine", base=base))
    ran = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    ran.assert_outcomes(errors=1)
    ran.stdout.fnmatch_lines([told])


OTHER = "ABC):\n    @abstractmethod\n    def none(self): pass\n\nclass No(object"


@pytest.mark.parametrize(
    ("name", "base"),
    [
        pytest.param("Mine", "EgressContract", id="one that is no test by its name"),
        pytest.param("TestBase", OTHER, id="another's"),
    ],
)
def test_other_classes_that_are_abstract_are_left_alone(
    pytester: pytest.Pytester, name: str, base: str
) -> None:
    pytester.makepyfile(LACKING.format(name=name, base=base))
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
