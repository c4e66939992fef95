import os
from pathlib import Path

from flask import Flask, abort, request, send_file
from werkzeug.utils import secure_filename

app = Flask(__name__)
REPORTS = Path("/srv/reports")


@app.get("/report")
def report():
    name = request.args["name"]
    # ruleid: python-path-traversal
    return send_file(os.path.join("/srv/reports", name))


@app.get("/report-text")
def report_text():
    # ruleid: python-path-traversal
    with open(f"/srv/reports/{request.args['name']}") as source:
        return source.read()


@app.get("/report-named")
def report_named():
    name = secure_filename(request.args["name"])
    # ok: python-path-traversal
    return send_file(os.path.join("/srv/reports", name))


@app.get("/report-checked")
def report_checked():
    path = (REPORTS / request.args["name"]).resolve()
    if not path.is_relative_to(REPORTS):
        abort(404)
    # ok: python-path-traversal
    return path.read_text()
