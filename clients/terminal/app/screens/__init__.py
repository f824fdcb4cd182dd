"""The app's screens: the table, and what opens over it."""
