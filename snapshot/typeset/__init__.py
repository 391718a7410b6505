"""Source text → page text → grid of glyph numbers.

`fold` takes away what cannot be shown, `pagetext` writes marks for what has no ink and names for emoji,
`grid` fills pages, `bidi` turns right-to-left runs about. `units` are what fonts draw as one though it is no
single character, and `needed` lists those of a text.
All of it is arrays of code points; the only knowledge of fonts is a `Coverage`.
"""
