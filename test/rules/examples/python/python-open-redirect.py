from flask import Flask, redirect, request, url_for

app = Flask(__name__)


@app.get("/leave")
def leave():
    # ruleid: python-open-redirect
    return redirect(request.args.get("next", "/"))


@app.get("/leave-fixed")
def leave_fixed():
    # ok: python-open-redirect
    return redirect(url_for("home", tab=request.args.get("tab")))


@app.get("/items")
def items():
    # ok: python-open-redirect
    return redirect(f"/items/{request.args['id']}")
