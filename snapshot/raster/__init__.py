"""Glyph atlas, kernels and the PNG writer: grids of glyph numbers become images.

`face` opens outline faces, `drawn` reads the project's own glyphs, `atlas` puts both into one array,
`blit` writes packed scanlines from it, `png` wraps them.
"""
