"""Where the package's data is: inside it when installed, beside it in a checkout.

`layouts/`, `fonts/` and `cli.py` stand at the top of the repository; the wheel carries them inside the
package, so that no generic name lands in site-packages. An editable install has the repository itself.
"""

from __future__ import annotations

from pathlib import Path

from snapshot.errors import SnapshotError

__all__ = ["locate"]

_PACKAGE = Path(__file__).resolve().parent


def locate(name: str) -> Path:
    """Path of the data file or folder `name` ("layouts", "fonts", "cli.py").

    Raises:
        SnapshotError: it is in neither place, so the installation is broken.
    """
    for folder in (_PACKAGE, _PACKAGE.parent):
        path = folder / name
        if path.exists():
            return path
    raise SnapshotError(f"{name} is missing beside {_PACKAGE}: reinstall snapshot-pages")
