from Crypto.Cipher import AES, DES
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def encrypt_legacy(key: bytes, text: bytes) -> bytes:
    # ruleid: python-weak-cipher
    return DES.new(key, DES.MODE_CBC).encrypt(text)


def encrypt_block(key: bytes, text: bytes) -> bytes:
    # ruleid: python-weak-cipher
    return AES.new(key, AES.MODE_ECB).encrypt(text)


def encryptor(key: bytes):
    # ruleid: python-weak-cipher
    return Cipher(algorithms.AES(key), modes.ECB()).encryptor()


def encrypt_fixed(key: bytes, text: bytes) -> tuple[bytes, bytes, bytes]:
    # ok: python-weak-cipher
    cipher = AES.new(key, AES.MODE_GCM)
    sealed, tag = cipher.encrypt_and_digest(text)
    return cipher.nonce, sealed, tag
