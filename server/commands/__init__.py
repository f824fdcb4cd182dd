"""The subcommands of `dustup`, one file each; server/cli.py mounts them."""
