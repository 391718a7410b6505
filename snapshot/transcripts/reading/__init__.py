"""What the readers of formats share."""
