import requests
from flask import Flask, abort, request

app = Flask(__name__)
FEEDS = {"news": "https://feeds.example.com/news.xml"}


@app.get("/preview")
def preview():
    url = request.args["url"]
    # ruleid: python-ssrf
    return requests.get(url, timeout=5).text


@app.get("/feed")
def feed():
    url = FEEDS[request.args["feed"]]
    # ok: python-ssrf
    return requests.get(url, timeout=5).text


@app.get("/user")
def user():
    name = request.args["name"]
    # ok: python-ssrf
    return requests.get(f"https://users.example.com/{name}", timeout=5).text
