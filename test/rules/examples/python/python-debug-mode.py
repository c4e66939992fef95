import os

from flask import Flask

app = Flask(__name__)


def main() -> None:
    # ruleid: python-debug-mode
    app.run(port=8000, debug=True)


def main_fixed() -> None:
    # ok: python-debug-mode
    app.run(port=8000, debug=os.environ.get("APP_DEBUG") == "1")
