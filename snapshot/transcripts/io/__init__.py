"""Input as it comes: opened, unpacked, decoded, cut into rows, salvaged."""
