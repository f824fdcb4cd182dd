"""Programs for people and bots: each speaks the protocol, and imports nothing of the server."""
