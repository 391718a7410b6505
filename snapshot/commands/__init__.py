"""The commands of the command line, a module each: its arguments, and what it prints.

A command module has `add(commands)`, which adds its parser, and is listed in `NAMES`. Modules stay light to
import: `--help` imports them all, so what does the work is imported when a command runs.
"""

NAMES = ("render", "read", "verify", "compact", "convert", "inspect", "session", "layouts", "cost", "replay")
