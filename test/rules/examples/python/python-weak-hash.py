import hashlib


def sign_manifest(manifest: bytes, key: bytes) -> str:
    # ruleid: python-weak-hash
    return hashlib.sha1(key + manifest).hexdigest()


def sign_manifest_fixed(manifest: bytes, key: bytes) -> str:
    # ok: python-weak-hash
    return hashlib.sha256(key + manifest).hexdigest()


def page_etag(page: bytes) -> str:
    # ok: python-weak-hash
    return hashlib.md5(page).hexdigest()


def bucket(name: str) -> int:
    # ok: python-weak-hash
    return hashlib.md5(name.encode(), usedforsecurity=False).digest()[0]
