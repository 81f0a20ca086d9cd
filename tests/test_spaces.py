import json
from dataclasses import replace

import numpy as np
import pytest

from demalib.alignment import translate
from demalib.cli import main
from demalib.config import Config
from demalib.data.store import save_embedding
from demalib.data.subwords import FastTextBin
from demalib.errors import DataError
from demalib.hints import Lexicon
from demalib.many import align_many
from demalib.spaces import export_space, is_space, load_space, save_space


@pytest.fixture
def files(languages, tmp_path):
    for side in languages:
        save_embedding(tmp_path / f"{side.lang}.vec", side)
    return tmp_path


@pytest.fixture
def aligned(files, capsys):
    names = [str(files / f"{lang}.vec") for lang in ("aa", "bb", "cc")]
    assert main(["align", *names, "--out", str(files / "out"), "--hub", "aa", "--strict"]) == 0
    shown = capsys.readouterr().out
    assert "aligned 3 languages" in shown and "hub: aa" in shown and "aa-bb: yes" in shown
    return files / "out"


def test_a_space_survives_the_disk(languages, tmp_path):
    space = align_many(languages)
    save_space(tmp_path, space)
    again = load_space(tmp_path)
    assert again.langs == space.langs and again.info == json.loads(json.dumps(space.info))
    for side, other, P, Q in zip(space.sides, again.sides, space.maps, again.maps, strict=True):
        assert side.words == other.words and (side.vectors == other.vectors).all()
        assert P.equal(Q)


def test_a_space_on_disk_translates_unseen_words(languages, tmp_path):
    """Any word of the first language is known to its model, as its vector of row 3."""

    class Model:
        path = tmp_path / "cc.aa.16.bin"

        def vectors_of(self, words):
            return np.repeat(languages[0].vectors[3:4], len(words), axis=0)

    space = align_many([replace(languages[0], subwords=Model()), *languages[1:]])
    save_space(tmp_path / "out", space)
    again = load_space(tmp_path / "out")
    assert again.sides[0].subwords == FastTextBin(Model.path) and again.sides[1].subwords is None
    mapping, pair = space.between("aa", "bb")
    found = translate(mapping, pair, ["w3", "unheard"], k=1)
    assert found["translation"].tolist() == ["w3", "w3"] and found["rank"].isna().tolist()[1]
    with pytest.raises(DataError, match="cc.aa.16.bin: the fastText model, .* is gone"):
        translate(*again.between("aa", "bb"), "unheard")


def test_a_language_that_left_the_space_leaves_the_folder(languages, tmp_path):
    for some in (languages, languages[:2]):
        save_space(tmp_path, align_many(some))
        assert load_space(tmp_path).langs == tuple(side.lang for side in some)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["aa.npz", "bb.npz", "space.safetensors"]


def test_the_commands_take_any_two_languages(aligned, capsys):
    assert main(["translate", str(aligned), "--from", "bb", "--to", "cc", "-k", "1", "bb300"]) == 0
    assert "cc300" in capsys.readouterr().out
    assert main(["info", str(aligned)]) == 0
    assert "bb-cc" in capsys.readouterr().out
    gold = aligned / "bb-cc.txt"
    gold.write_text("".join(f"bb{i} cc{i}\n" for i in range(200, 300)))
    options = ["--from", "bb", "--to", "cc", "--lexicon", str(gold), "--json"]
    assert main(["evaluate", str(aligned), *options]) == 0
    figures = json.loads(capsys.readouterr().out)["bb-cc"]["csls"]
    assert figures["p@1"] > 0.9


def test_export_writes_every_language(aligned, capsys):
    gensim = pytest.importorskip("gensim.models")
    assert main(["export", str(aligned), "--format", "word2vec"]) == 0
    read = {
        lang: gensim.KeyedVectors.load_word2vec_format(aligned / f"{lang}.aligned.bin", binary=True)
        for lang in ("aa", "bb", "cc")
    }
    assert read["bb"]["bb300"] @ read["cc"]["cc300"] > 0.7
    assert main(["export", str(aligned), "--format", "dictionary"]) == 2
    assert "--from and --to" in capsys.readouterr().err


def test_errors_say_what_to_do(files, aligned, capsys):
    for command, said in (
        (f"translate {aligned} bb300", "aa, bb, cc; say which with --from and --to"),
        (f"translate {aligned} --from bb --to dd bb300", "no language 'dd'"),
        (f"align {files}/aa.vec --out {files}/x", "two files"),
        (f"align {files}/aa.vec {files}/bb.vec --hub aa --out {files}/x", "more than two files"),
        (f"align {files}/aa.vec {files}/bb.vec --out {aligned}", "space of many languages"),
        (f"align {files}/aa.vec {files}/bb.vec {files}/cc.vec --hub d --out {files}/x", "--hub d"),
    ):
        assert main(command.split()) == 2, command
        assert said in capsys.readouterr().err
    with pytest.raises(DataError, match="no such space"):
        load_space(files)


def test_damaged_spaces_are_refused(aligned):
    path = aligned / "space.safetensors"
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"x" * 100):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="run 'demalib align' again"):
            load_space(aligned)
    assert is_space(aligned)


def test_sides_of_fewer_dimensions_are_padded(languages, rng):
    """A language in 24 dimensions joins two of 16."""
    wide = np.concatenate([languages[2].vectors, 0.01 * rng.standard_normal((800, 8))], axis=1)
    turn, _ = np.linalg.qr(rng.standard_normal((24, 24)))
    third = replace(languages[2], vectors=(wide @ turn).astype(np.float32))
    space = align_many([*languages[:2], third])
    assert {P.shape for P in space.maps} == {(24, 24)}
    mapping, pair = space.between("bb", "cc")
    assert mapping.transform(third.vectors[:3], reverse=True).shape == (3, 24)
    assert space.info["pairs"]["aa-cc"]["verdict"]["answer"] == "yes"


def test_export_of_a_space_keeps_unit_vectors(languages, tmp_path):
    paths = export_space(align_many(languages[:2]), tmp_path, "npz")
    found = np.load(paths[0])
    np.testing.assert_allclose(np.linalg.norm(found["vectors"], axis=1), 1, atol=1e-5)


def test_the_order_of_the_languages_changes_nothing(languages):
    space, other = align_many(languages, hub="bb"), align_many(languages[::-1], hub="bb")
    assert other.langs == space.langs[::-1]
    for P, Q in zip(space.maps, other.maps[::-1], strict=True):
        assert P.equal(Q)
    one, two = space.between("aa", "cc")[0].info, other.between("cc", "aa")[0].info
    assert one["verdict"] == two["verdict"]


def test_settings_of_a_space_are_checked_before_the_work(languages):
    with pytest.raises(DataError, match="'zz' is none of the languages; use one of aa, bb, cc"):
        align_many(languages, hub="zz")
    with pytest.raises(DataError, match="'free' is for two languages"):
        align_many(languages, Config("aa-bb", vectors="files", last="free"))


def test_a_pair_of_a_space_is_not_judged_by_words_of_its_lexicon(languages):
    known = {("aa", "cc"): Lexicon([(f"w{i}", f"w{i}") for i in range(60, 90)])}
    free, given = align_many(languages, hub="bb"), align_many(languages, hub="bb", lexicons=known)
    asked = [space.info["pairs"]["aa-cc"]["verdict"]["queries"] for space in (free, given)]
    assert 0 < asked[1] < asked[0]
