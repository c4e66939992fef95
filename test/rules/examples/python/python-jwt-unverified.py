import jwt


def subject(token: str) -> str:
    # ruleid: python-jwt-unverified
    return jwt.decode(token, options={"verify_signature": False})["sub"]


def subject_fixed(token: str, key: str) -> str:
    # ok: python-jwt-unverified
    return jwt.decode(token, key, algorithms=["RS256"])["sub"]
