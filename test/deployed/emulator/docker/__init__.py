"""Stands in for a container engine: a container of the runner's image is a process of its program.

The process has the environment of the task, and of this machine what the image would bring: where the
programs are (ASPM_CONTAINER, a JSON object with `command`, `cwd` and `environment`). Nothing of the
emulator's own environment reaches it, and no credential: neither does it in a task without a role.
"""

import json
import os
import subprocess
import tempfile
import threading
import uuid

from . import errors

CONTAINERS = {}


class Container:
    def __init__(self, image, options):
        image_of_runner = json.loads(os.environ["ASPM_CONTAINER"])
        # The emulator writes this machine's loopback as a container would name it: here it is the same one.
        given = {
            name: value.replace("host.docker.internal", "127.0.0.1")
            for name, value in (options.get("environment") or {}).items()
        }
        self.id = uuid.uuid4().hex * 2
        self.name = options.get("name")
        self.image = image
        self.attrs = {"NetworkSettings": {"IPAddress": "10.0.0.5", "Networks": {}}, "State": {}}
        self.output = tempfile.NamedTemporaryFile(prefix="container-", dir=os.getcwd(), delete=False)
        self.process = subprocess.Popen(
            image_of_runner["command"],
            cwd=image_of_runner["cwd"],
            env={**image_of_runner["environment"], **given},
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        CONTAINERS[self.id] = self

    @property
    def status(self):
        return "running" if self.process.poll() is None else "exited"

    def reload(self):
        self.attrs["State"] = {"ExitCode": self.process.poll()}

    def wait(self, **_):
        return {"StatusCode": self.process.wait()}

    def logs(self, stream=False, tail=None, **_):
        def written():
            with open(self.output.name, "rb") as file:
                return file.read()

        if not stream:
            return written()

        def lines():
            self.process.wait()
            yield from written().splitlines(keepends=True)

        return lines()

    def stop(self, timeout=5):
        if self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def remove(self, **_):
        threading.Thread(target=self._forget, daemon=True).start()

    def _forget(self):
        self.process.wait()
        CONTAINERS.pop(self.id, None)


class Containers:
    def run(self, image, **options):
        return Container(image, options)

    def get(self, name):
        for container in CONTAINERS.values():
            if name and (container.id.startswith(name) or container.name == name):
                return container
        raise errors.NotFound(name)

    def list(self, **_):
        return list(CONTAINERS.values())


class Image:
    id = "sha256:" + "0" * 64

    def tag(self, *_, **__):
        return True


class Images:
    def pull(self, image, **_):
        return Image()

    get = pull

    def get_registry_data(self, image, **_):
        return Image()


class Networks:
    def list(self, *_, **__):
        return []


class Client:
    containers = Containers()
    images = Images()
    networks = Networks()

    def ping(self):
        return True


def from_env(**_):
    return Client()


DockerClient = Client
