"""All tests, by kind. Folders below need no __init__.py; this one keeps `tests` from being shadowed by an installed package."""
