"""Source text: a transcript as one readable string, with its marks, payloads and spans."""
