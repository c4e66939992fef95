"""The errors that the emulator asks for by name."""


class DockerException(Exception):
    pass


class APIError(DockerException):
    pass


class ImageNotFound(DockerException):
    pass


class NotFound(DockerException):
    pass
