"""Wasteland: 2d20 skill tests, Action Points, Luck, and combat with hit locations and combat dice."""
