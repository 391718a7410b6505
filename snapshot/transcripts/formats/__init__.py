"""The formats: `NAME.py` detects and reads one, `NAME_writer.py` beside it writes it."""
