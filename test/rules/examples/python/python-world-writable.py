import os
import stat


def publish(path: str) -> None:
    # ruleid: python-world-writable
    os.chmod(path, 0o777)
    # ruleid: python-world-writable
    os.chmod(path, stat.S_IRUSR | stat.S_IWUSR | stat.S_IWOTH)


def publish_fixed(path: str) -> None:
    # ok: python-world-writable
    os.chmod(path, 0o750)
