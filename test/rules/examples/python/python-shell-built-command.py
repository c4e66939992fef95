import os
import shlex
import subprocess

SERVICE = "indexer"


def compress(path: str) -> None:
    # ruleid: python-shell-built-command
    os.system(f"gzip -9 {path}")
    command = "gzip -t %s.gz" % path
    # ruleid: python-shell-built-command
    subprocess.check_call(command, shell=True)


def compress_fixed(path: str) -> None:
    # ok: python-shell-built-command
    subprocess.run(["gzip", "-9", "--", path], check=True)
    # ok: python-shell-built-command
    subprocess.run(f"gzip -t {shlex.quote(path)}.gz", shell=True, check=True)


def restart() -> None:
    # ok: python-shell-built-command
    os.system(f"systemctl restart {SERVICE}")
