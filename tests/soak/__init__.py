"""Long runs with large counts: `make soak`. Resumable, under an hour; each stage says what it counted."""
