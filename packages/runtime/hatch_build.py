"""Takes the top-level `templates/` into wheel and sdist as `psych_runtime/_kit/templates`."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KitHook(BuildHookInterface[Any]):
    """In a checkout the templates stand beside `packages/`; in an sdist they are in place."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name every template file for the archive. An editable install finds the checkout's own folder."""
        templates = Path(self.root).parents[1] / "templates"
        if version == "editable" or not templates.is_dir():
            return
        package = "src/psych_runtime" if self.target_name == "sdist" else "psych_runtime"
        for file in sorted(templates.rglob("*")):
            inside = file.relative_to(templates)
            if file.is_file() and not any(part.startswith((".", "__pycache__")) for part in inside.parts):
                build_data["force_include"][str(file)] = f"{package}/_kit/templates/{inside.as_posix()}"
