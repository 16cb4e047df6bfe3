"""The runner of documents' blocks finds what is said wrong, and the writer says it right."""

from pathlib import Path

import pytest

from tests.kit import snippet_writer, snippets

WRONG = '''# A page

```python
import asyncio


async def told(word: str) -> None:
    """Say it."""
    await asyncio.sleep(0)
    print(word)


for number in range(2):
    print(
        number,
        "of two",
    )
    # > 7 of two
with open("left.txt", "w") as file:
    file.write("left")
```

```python
await told("by a function of another block")
# > ?
await asyncio.create_task(told("by a task"))
```

```python
await told("one")
print()
await told("two")
```

```text
three
…
four
```

```console
$ cat left.txt
right
$ echo nothing > /dev/null
$ cat missing.txt
```

```python
print("as it is", number)
# > as … 1
```
'''
RIGHT = (
    WRONG.replace("    # > 7 of two\n", "    # > 0 of two\n    # > 1 of two\n")
    .replace("three\n…\nfour\n", "one\n\ntwo\n")
    .replace("# > ?\n", "# > by a function of another block\n")
    .replace('told("by a task"))\n', 'told("by a task"))\n# > by a task\n')
    .replace("right\n", "left\n")
    .replace("$ cat missing.txt\n", "$ cat missing.txt\ncat: missing.txt: No such file or directory\n")
)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(WRONG)
    return page


def test_each_block_and_command_that_prints_otherwise_is_found(page: Path, tmp_path: Path) -> None:
    played = list(snippets.play(page, tmp_path))
    assert [each.agrees for each in played] == [False, False, False, False, True, False, True]
    assert [WRONG.splitlines()[each.place.line - 1] for each in played] == [
        "import asyncio",
        'await told("by a function of another block")',
        'await told("one")',
        "$ cat left.txt",
        "$ echo nothing > /dev/null",
        "$ cat missing.txt",
        'print("as it is", number)',
    ]


def test_what_is_printed_is_written_in_its_place_and_the_rest_stays(page: Path) -> None:
    snippet_writer.main([str(page)])
    assert page.read_text() == RIGHT
    snippet_writer.main([str(page)])
    assert page.read_text() == RIGHT


def test_commands_are_left_out_where_only_python_is_asked_for(page: Path) -> None:
    assert len(list(snippets.python(page))) == WRONG.count("```python")


def test_what_builds_and_installs_is_not_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ make wheels\n$ echo here\nhere\n```\n")
    assert [each.printed for each in snippets.play(page, tmp_path)] == ["here\n"]
