"""Fonts for scripts that matplotlib's own font does not have: Japanese and Chinese."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from matplotlib import font_manager

# By file name, so that a font installed after matplotlib made its list is found too.
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
    """The name of an installed font with Japanese letters; empty if there is none."""
    paths = {Path(path).name: path for path in font_manager.findSystemFonts()}
    for file in CJK:
        if file in paths:
            font_manager.fontManager.addfont(paths[file])
            return CJK[file]
    return ""


def families() -> list[str]:
    """Font families for ``font.family``: the usual one, and one to fall back on if there is any."""
    return ["sans-serif", *filter(None, [cjk_font()])]


def missing(langs: tuple[str, str]) -> str:
    """A line for people if words of these languages cannot be drawn; empty if they can."""
    if cjk_font() or not {"ja", "zh"} & set(langs):
        return ""
    return "no font for Japanese or Chinese: install one (fonts-noto-cjk) to read the figures"
