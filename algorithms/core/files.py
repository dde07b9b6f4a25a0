"""Files that are written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# no process id in the name: what a killed process left is written over by the next one
TEMPORARY_SUFFIX = ".tmp"


def write_atomically(path: Path, *chunks: bytes | memoryview, durable: bool = True) -> None:
    """Write beside the target, then rename: a reader sees the old file or the new one, never a part."""
    temporary = path.with_name(f".{path.name}{TEMPORARY_SUFFIX}")
    try:
        with temporary.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, content: Any, *, durable: bool = True) -> None:
    write_atomically(path, (json.dumps(content, indent=2) + "\n").encode(), durable=durable)


def write_csv(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Numbers in their shortest exact form, so that equal results are equal bytes."""
    lines = [",".join(header), *(",".join(str(value) for value in row) for row in rows)]
    write_atomically(path, ("\n".join(lines) + "\n").encode())
