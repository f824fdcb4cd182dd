"""The Dustup server: sessions, store, gateway and deadlines around the rules of `engine` and the wire of `protocol`."""
