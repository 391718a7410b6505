"""Pages beside their text as one HTML file that needs nothing else, to be looked at in a browser."""
