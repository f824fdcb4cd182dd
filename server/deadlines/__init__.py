"""Deadlines: kept in the sessions, indexed in the store, acted on by whichever node sweeps first."""
