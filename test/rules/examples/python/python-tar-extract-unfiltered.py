import tarfile
import zipfile


def unpack(path: str, target: str) -> None:
    with tarfile.open(path) as archive:
        # ruleid: python-tar-extract-unfiltered
        archive.extractall(target)


def unpack_fixed(path: str, target: str) -> None:
    with tarfile.open(path) as archive:
        # ok: python-tar-extract-unfiltered
        archive.extractall(target, filter="data")


def unpack_zip(path: str, target: str) -> None:
    with zipfile.ZipFile(path) as archive:
        # ok: python-tar-extract-unfiltered
        archive.extractall(target)
