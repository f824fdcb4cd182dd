"""The version of this distribution, told to the server in `hello`."""

__version__ = "0.1.0"
