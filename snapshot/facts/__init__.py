"""Exact strings: found by their form, ranked, and listed as text beside the pages."""
