import shlex
import subprocess

from fastapi import FastAPI, Query
from flask import Flask, request

app = Flask(__name__)
api = FastAPI()


@app.post("/archive")
def archive():
    folder = request.form["folder"]
    command = "tar -czf /srv/out.tgz " + folder
    # ruleid: python-command-injection
    subprocess.run(command, shell=True, check=True)
    # ok: python-command-injection
    subprocess.run(["tar", "-czf", "/srv/out.tgz", "--", folder], check=True)
    # ok: python-command-injection
    subprocess.run("tar -czf /srv/out.tgz -- " + shlex.quote(folder), shell=True, check=True)
    return "", 204


@api.get("/lookup")
def lookup(host: str = Query()):
    # ruleid: python-command-injection
    return subprocess.getoutput(f"dig +short {host}")
