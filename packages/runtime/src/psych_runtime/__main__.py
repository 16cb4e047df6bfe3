"""`python -m psych_runtime` is `psych`."""

import sys

from psych_runtime.cli import main

sys.exit(main())
