"""Source text → page text → grid of glyph numbers.

`fold` takes away what cannot be shown, `pagetext` writes marks for what has no ink, `grid` fills pages.
All of it is arrays of code points; the only knowledge of fonts is a `Coverage`.
"""
