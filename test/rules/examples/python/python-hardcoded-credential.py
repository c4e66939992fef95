import os

import psycopg

# ruleid: python-hardcoded-credential
DB_PASSWORD = "aaaa1111"

# ok: python-hardcoded-credential
DB_PASSWORD_FROM_ENV = os.environ["DB_PASSWORD"]

# ok: python-hardcoded-credential
PASSWORD = "<your password>"


def connect():
    # ruleid: python-hardcoded-credential
    return psycopg.connect(host="db", user="app", password="bbbb2222")


def connect_fixed():
    # ok: python-hardcoded-credential
    return psycopg.connect(host="db", user="app", password=os.environ["DB_PASSWORD"])
