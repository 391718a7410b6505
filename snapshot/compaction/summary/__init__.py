"""Summaries in place of pages: by a model that the caller brings, or an offline digest."""
