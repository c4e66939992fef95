import random
import secrets
import string

LETTERS = string.ascii_letters + string.digits


def invite() -> str:
    # ruleid: python-insecure-random
    token = "".join(random.choice(LETTERS) for _ in range(32))
    return token


def make_reset_code() -> int:
    # ruleid: python-insecure-random
    return random.randint(100000, 999999)


def invite_fixed() -> str:
    # ok: python-insecure-random
    token = "".join(secrets.choice(LETTERS) for _ in range(32))
    return token


def backoff(attempt: int) -> float:
    # ok: python-insecure-random
    delay = random.uniform(0, 2**attempt)
    return delay
