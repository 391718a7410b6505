"""`python -m snapshot` and the installed `snapshot` command: both run `cli.py`, wherever it stands."""

from __future__ import annotations

import atexit
import gc
import importlib.util
import os
import sys
from contextlib import suppress

from snapshot._resources import locate


def main() -> int:
    """Run the command line; the exit code."""
    spec = importlib.util.spec_from_file_location("snapshot_cli", locate("cli.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main()


# Objects made before the collector of cycles looks at the youngest: importing makes many, and no garbage.
_YOUNG = 50_000


def run() -> None:
    """Run the command line, and end the process with its exit code."""
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
    try:
        code = main()
    finally:
        # What is left goes with the process: to look through it all for cycles takes as long as four pages.
        gc.freeze()
    if "daft" in sys.modules:
        # Its threads may still give back Python objects while the interpreter goes down, which aborts it.
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    run()
