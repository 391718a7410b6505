"""Transcripts to files: a format is one module, named as its reader's.

A module says how a few messages that belong together look (`rows`), and what stands around them
(`document`). It need not say what the format cannot hold: `_fit` finds that out by reading every message
back. A format that is no list of messages has `write(transcript, tell)` in their place.
"""
