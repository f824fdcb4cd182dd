"""`python -m protocol.vectors`: write the vector files anew."""

from __future__ import annotations

import sys

from protocol.vectors import FILES, HERE, build, dump

for name in FILES:
    (HERE / name).write_text(dump(build(name)), encoding="utf-8")
    sys.stdout.write(f"{name}: {len(build(name))} vectors\n")
