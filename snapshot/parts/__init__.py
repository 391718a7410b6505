"""Facts about the parts of messages, each in one place: kinds, media, documents, JSON, characters.

It stands below readers, writers, source text and compaction, and imports the message types alone.
"""
