from flask import Flask, make_response

app = Flask(__name__)


@app.post("/login")
def login():
    response = make_response("", 204)
    # ruleid: python-cookie-flags
    response.set_cookie("session_id", new_session())
    return response


@app.post("/login-plain")
def login_plain():
    response = make_response("", 204)
    # ruleid: python-cookie-flags
    response.set_cookie("session_id", new_session(), secure=False, httponly=True)
    return response


@app.post("/login-fixed")
def login_fixed():
    response = make_response("", 204)
    # ok: python-cookie-flags
    response.set_cookie("session_id", new_session(), httponly=True, secure=True, samesite="Lax")
    # ok: python-cookie-flags
    response.set_cookie("theme", "dark")
    return response
