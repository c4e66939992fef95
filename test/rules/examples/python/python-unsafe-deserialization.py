import json
import pickle


def read_job(message: bytes):
    # ruleid: python-unsafe-deserialization
    return pickle.loads(message)


def read_job_fixed(message: bytes):
    # ok: python-unsafe-deserialization
    return json.loads(message)


def deep_copy(value):
    # ok: python-unsafe-deserialization
    return pickle.loads(pickle.dumps(value))
