"""Pages: source text and a layout become PNG images, in memory or in a folder, and are read back."""
