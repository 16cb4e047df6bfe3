"""Takes the top-level `templates/` and `.agents/skills/` into wheel and sdist, under `psych_runtime/_kit`."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KitHook(BuildHookInterface[Any]):
    """In a checkout they stand beside `packages/`; in an sdist they are in place."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name every such file for the archive. An editable install finds the checkout's own folders."""
        if version == "editable" or (Path(self.root) / "src" / "psych_runtime" / "_kit").is_dir():
            return
        package = "src/psych_runtime" if self.target_name == "sdist" else "psych_runtime"
        for name, place in (("templates", "templates"), ("skills", ".agents/skills")):
            folder = Path(self.root).parents[1] / place
            for file in sorted(folder.rglob("*")):
                inside = file.relative_to(folder)
                if file.is_file() and not any(part.startswith((".", "__pycache__")) for part in inside.parts):
                    build_data["force_include"][str(file)] = f"{package}/_kit/{name}/{inside.as_posix()}"
