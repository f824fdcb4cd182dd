"""Clients of a Dustup server. They speak the protocol through the `dustup` package and import nothing of the server."""
