"""Fonts for scripts that matplotlib's own font lacks: Japanese and Chinese."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from matplotlib import font_manager

# Searched by file name: matplotlib's cached list may be older than the font.
CJK = {
    "NotoSansCJK-Regular.ttc": "Noto Sans CJK JP",
    "NotoSansCJKjp-Regular.otf": "Noto Sans CJK JP",
    "ipaexg.ttf": "IPAexGothic",
    "ipag.ttf": "IPAGothic",
    "DroidSansFallbackFull.ttf": "Droid Sans Fallback",
    "wqy-zenhei.ttc": "WenQuanYi Zen Hei",
    "YuGothM.ttc": "Yu Gothic",
    "msgothic.ttc": "MS Gothic",
    "Hiragino Sans GB.ttc": "Hiragino Sans GB",
}


@cache
def cjk_font() -> str:
    """Find an installed font with Japanese letters and return its name; empty if there is none."""
    paths = {Path(path).name: path for path in font_manager.findSystemFonts()}
    for file in CJK:
        if file in paths:
            font_manager.fontManager.addfont(paths[file])
            return CJK[file]
    return ""


def families() -> list[str]:
    """List the families for ``font.family``: the default, then a CJK font if one is installed."""
    return ["sans-serif", *filter(None, [cjk_font()])]


def missing(langs: tuple[str, str]) -> str:
    """Explain in a line that words of these languages cannot be drawn; empty if they can."""
    if cjk_font() or not {"ja", "zh"} & set(langs):
        return ""
    return "no font for Japanese or Chinese: install one (fonts-noto-cjk) to read the figures"
