import hashlib
import os


def store(password: str) -> str:
    # ruleid: python-fast-password-hash
    return hashlib.sha256(password.encode()).hexdigest()


def store_fixed(password: str) -> bytes:
    salt = os.urandom(16)
    # ok: python-fast-password-hash
    return salt + hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)
