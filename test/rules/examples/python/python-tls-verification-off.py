import ssl

import requests


def health(url: str) -> bool:
    # ruleid: python-tls-verification-off
    return requests.get(url, verify=False, timeout=5).ok


def context() -> ssl.SSLContext:
    loose = ssl.create_default_context()
    loose.check_hostname = False
    # ruleid: python-tls-verification-off
    loose.verify_mode = ssl.CERT_NONE
    return loose


def health_fixed(url: str) -> bool:
    # ok: python-tls-verification-off
    return requests.get(url, verify="/etc/ssl/private-ca.pem", timeout=5).ok


def context_fixed() -> ssl.SSLContext:
    # ok: python-tls-verification-off
    return ssl.create_default_context(cafile="/etc/ssl/private-ca.pem")
