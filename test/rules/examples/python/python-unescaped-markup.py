from django.utils.html import format_html
from django.utils.safestring import mark_safe


def badge(label: str):
    # ruleid: python-unescaped-markup
    return mark_safe(f"<span class='badge'>{label}</span>")


def badge_fixed(label: str):
    # ok: python-unescaped-markup
    return format_html("<span class='badge'>{}</span>", label)


def divider():
    # ok: python-unescaped-markup
    return mark_safe("<hr class='thin'>")
