import pytest

from demalib import plots
from demalib.plots import fonts


def test_japanese_is_drawn_where_a_font_is_installed(recwarn):
    if not fonts.cjk_font():
        pytest.skip("no font with Japanese letters (apt-get install fonts-noto-cjk)")
    import matplotlib.pyplot as plt

    plots.style()
    figure = plt.figure()
    figure.text(0.5, 0.5, "winter зима 冬")
    figure.canvas.draw()
    plt.close(figure)
    assert not [w for w in recwarn if "missing from" in str(w.message)]


def test_without_such_a_font_a_line_says_so(monkeypatch):
    monkeypatch.setattr(fonts, "cjk_font", lambda: "")
    assert "fonts-noto-cjk" in fonts.missing(("en", "ja")) and not fonts.missing(("en", "ru"))
    assert fonts.families() == ["sans-serif"]
