from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

app = FastAPI()
# ruleid: python-cors-any-origin
app.add_middleware(CORSMiddleware, allow_origins=["*"], allow_credentials=True)

fixed = FastAPI()
# ok: python-cors-any-origin
fixed.add_middleware(CORSMiddleware, allow_origins=["https://app.example.com"], allow_credentials=True)

public = FastAPI()
# ok: python-cors-any-origin
public.add_middleware(CORSMiddleware, allow_origins=["*"])
