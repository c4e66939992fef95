import yaml


def read_pipeline(document: str):
    # ruleid: python-yaml-unsafe-load
    return yaml.load(document, Loader=yaml.Loader)


def read_pipeline_with_default(document: str):
    # ruleid: python-yaml-unsafe-load
    return yaml.load(document)


def read_pipeline_fixed(document: str):
    # ok: python-yaml-unsafe-load
    return yaml.safe_load(document)


def read_pipeline_named(document: str):
    # ok: python-yaml-unsafe-load
    return yaml.load(document, Loader=yaml.SafeLoader)
