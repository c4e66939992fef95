import ast

from flask import Flask, request

app = Flask(__name__)


@app.get("/sum")
def total():
    numbers = request.args.get("numbers", "[]")
    # ruleid: python-code-injection
    return str(sum(eval(numbers)))


@app.get("/sum-parsed")
def total_parsed():
    numbers = request.args.get("numbers", "[]")
    # ok: python-code-injection
    return str(sum(ast.literal_eval(numbers)))
