"""`python -m snapshot` and the installed `snapshot` command: both run `cli.py`, wherever it stands."""

from __future__ import annotations

import importlib.util
import sys

from snapshot._resources import locate


def main() -> int:
    """Run the command line; the exit code."""
    spec = importlib.util.spec_from_file_location("snapshot_cli", locate("cli.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main()


if __name__ == "__main__":
    sys.exit(main())
