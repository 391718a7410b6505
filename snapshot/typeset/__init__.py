"""Source text → page text → grid of glyph numbers.

`fold` takes away what cannot be shown, `pagetext` writes marks for what has no ink and names for emoji,
`grid` fills pages, `bidi` turns right-to-left runs about. `shaped` has the clusters that fonts draw as one,
`missing_glyphs` lists those of a text, and `prepared` keeps what was worked out.
All of it is arrays of code points; the only knowledge of fonts is a `Coverage`.
"""
