"""What a character costs each model, as text and as pages."""
