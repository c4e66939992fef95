from jinja2 import Environment, FileSystemLoader, select_autoescape

# ruleid: python-template-autoescape-off
pages = Environment(loader=FileSystemLoader("pages"), autoescape=False)

# ok: python-template-autoescape-off
pages_fixed = Environment(loader=FileSystemLoader("pages"), autoescape=select_autoescape())
