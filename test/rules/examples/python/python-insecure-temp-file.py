import tempfile


def spool(content: bytes) -> str:
    # ruleid: python-insecure-temp-file
    path = tempfile.mktemp(suffix=".spool")
    with open(path, "wb") as target:
        target.write(content)
    return path


def spool_fixed(content: bytes) -> str:
    # ok: python-insecure-temp-file
    with tempfile.NamedTemporaryFile(suffix=".spool", delete=False) as target:
        target.write(content)
    return target.name
