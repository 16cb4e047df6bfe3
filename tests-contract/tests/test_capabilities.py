"""A rule that needs what an adapter cannot do is left out by name, and counted."""

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
