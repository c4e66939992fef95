from flask import Flask, render_template_string, request

app = Flask(__name__)


@app.get("/hello")
def hello():
    name = request.args.get("name", "you")
    # ruleid: python-template-injection
    return render_template_string("<p>Hello " + name + "</p>")


@app.get("/hello-fixed")
def hello_fixed():
    name = request.args.get("name", "you")
    # ok: python-template-injection
    return render_template_string("<p>Hello {{ name }}</p>", name=name)
