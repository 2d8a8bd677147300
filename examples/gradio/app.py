"""Vouch in Gradio: links in the text, and a list of sources below it.

pip install gradio openai
python examples/gradio/app.py              # while `vouch serve` runs
"""

import os

import gradio as gr

url = os.environ.get("VOUCH_URL", "http://127.0.0.1:8000/v1")
model = os.environ.get("VOUCH_MODEL", "vouch/demo") + "@markdown"
gr.load_chat(url, model=model, token=os.environ.get("VOUCH_KEY", "none")).launch()
