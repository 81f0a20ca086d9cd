"""Vectors of one's own, from files that the project has never seen to other programs."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import demalib
from demalib.cli import main
from demalib.data.lexicon import read_lexicon
from demalib.data.store import save_embedding
from demalib.embedding import Embedding
from demalib.errors import DataError
from demalib.evaluation.translation import judge
from demalib.pair import retrievers
from demalib.retrieval import Metric, Retriever

BOOK = Path(__file__).resolve().parents[1] / "notebooks" / "book"
FI = [
    a + b
    for a in ["k", "l", "m", "n", "p", "r", "s", "t", "v", "h"]
    for b in ["a", "e", "i", "o", "u", "y", "ä", "ö"]
]
EL = [
    a + b
    for a in ["κ", "λ", "μ", "ν", "π", "ρ", "σ", "τ", "β", "γ"]
    for b in ["α", "ε", "η", "ι", "ο", "υ", "ω", "ά"]
]


def language(syllables, n):
    return ["".join(syllables[i // 80**p % 80] for p in range(3)) for i in range(n)]


def write_languages(folder, shared, n=3000, d=100, noise=0.5, names=("fi", "el"), words=None):
    """Two clustered spaces, one a turned and noised copy in another order of frequency.

    The ``shared`` words in the middle look alike; a train and a test lexicon hold the others.
    """
    rng = np.random.default_rng(7)
    spectrum = np.arange(1, d + 1) ** -0.4
    x = rng.standard_normal((60, d))[rng.integers(60, size=n)] + rng.standard_normal((n, d))
    turn, _ = np.linalg.qr(rng.standard_normal((d, d)))
    y = ((x + noise * rng.standard_normal((n, d))) * spectrum) @ turn
    order = np.argsort(np.log(np.arange(1, n + 1)) + rng.standard_normal(n))
    src, tgt = words or (language(FI, n), language(EL, n))
    alike = slice(n // 2, n // 2 + shared)
    tgt[alike] = src[alike]
    for name, w, v in (
        (names[0], src, x * spectrum),
        (names[1], [tgt[i] for i in order], y[order]),
    ):
        save_embedding(folder / f"{name}.vec", Embedding(w, v.astype(np.float32)))
    lines = [f"{a}\t{b}\n" for a, b in zip(src, tgt, strict=True) if a != b]
    (folder / "train.txt").write_text("".join(lines[::3]), encoding="utf-8")
    (folder / "test.txt").write_text("".join(lines[1::3]), encoding="utf-8")


def demalib_says(capsys, command):
    """Exit code, standard output and errors of a command line."""
    capsys.readouterr()
    code = main(shlex.split(command))
    return (code, *capsys.readouterr())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def supervised(folder):
    write_languages(folder, shared=0, noise=1.8)
    assert main(shlex.split("align --src fi.vec --tgt el.vec --out out --lexicon train.txt")) == 0
    return folder


ALIGN = "align --src fi.vec --tgt el.vec --out out"


@pytest.mark.parametrize("unbuffered", ["", "1"])  # found out at the end, or at the first line
@pytest.mark.parametrize("command", ["info out", f"{ALIGN} --lexicon train.txt"])
def test_a_reader_that_has_enough_ends_the_command(supervised, command, unbuffered, monkeypatch):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = [sys.executable, "-m", "demalib", *command.split()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()  # as ``head`` does after some lines
    assert process.stderr.read() == b"" and process.wait() == 141


def p_at_1(capsys):
    code, out, _ = demalib_says(capsys, "evaluate out --lexicon test.txt --json")
    assert code == 0
    return json.loads(out)["fi-el"]["csls"]["p@1"]


def test_unseen_languages_align(folder, capsys):
    write_languages(folder, shared=120)
    code, out, err = demalib_says(capsys, ALIGN)
    assert (code, err) == (0, "") and "120 identical words\n" in out
    assert p_at_1(capsys) > 0.95
    assert not [path for path in (folder / "out").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    "options, langs",
    [
        ("--src wiki.en.vec --tgt cc.de.300.vec", ("en", "de")),
        ("--src eng=wiki.en.vec --tgt cc.de.300.vec", ("eng", "de")),
        ("--src wiki.en.vec --tgt cc.de.300.vec --langs e d", ("e", "d")),
    ],
)
def test_files_as_fasttext_names_them(folder, capsys, options, langs):
    write_languages(folder, 120, n=600, d=20, names=("wiki.en", "cc.de.300"))
    code, out, err = demalib_says(capsys, f"align {options} --out out")
    assert (code, err) == (0, "")
    assert out.startswith("languages: wiki.en.vec is {}, cc.de.300.vec is {}".format(*langs))
    assert "{} → {}\n".format(*langs) in demalib_says(capsys, "info out")[1]


def test_no_marker_is_ever_a_translation(folder, capsys):
    write_languages(folder, 60, n=300, d=20)
    for name in ("fi.vec", "el.vec"):  # second in frequency, as in fastText's files
        head, first, *lines = Path(name).read_text(encoding="utf-8").splitlines()
        markers = [f"{marker} {first.split(' ', 1)[1]}" for marker in ("</s>", "<unk>")]
        text = "\n".join(["302 20", first, *markers, *lines]) + "\n"
        Path(name).write_text(text, encoding="utf-8")
    code, out, _ = demalib_says(capsys, f"{ALIGN} --tokens all")
    assert code == 0 and "fi: 300 of 302 words read, d = 20 (2 markers)" in out
    assert "60 identical words" in out
    assert main(["export", "out", "--format", "dictionary"]) == 0
    text = Path("out/fi-el.dictionary.tsv").read_text(encoding="utf-8")
    assert "</s>" not in text and "<unk>" not in text
    code, _, err = demalib_says(capsys, "translate out </s>")
    assert code == 2 and "'</s>' is not among" in err


def test_a_second_target_is_an_error(folder, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(shlex.split(f"{ALIGN} --tgt other.vec"))
    assert "--tgt is given twice" in capsys.readouterr().err


@pytest.mark.parametrize("shared", [0, 9])
def test_too_weak_a_hint_is_doubtful_and_says_what_helps(folder, capsys, shared):
    write_languages(folder, shared, n=300, d=20)
    code, out, _ = demalib_says(capsys, ALIGN + " --strict --hints identical")
    assert code == 0 and f"hints: {shared} identical" in out
    assert "did it work: doubtful: too few hints" in out and "--lexicon" in out


def test_an_alignment_that_did_not_work_is_told(folder, capsys):
    """The right words over vectors of others: most likely a mistake in a user's file."""
    write_languages(folder, 300)
    head, *lines = (folder / "el.vec").read_text().splitlines()
    words = [line.split(" ", 1)[0] for line in lines]
    numbers = [line.split(" ", 1)[1] for line in lines]
    mixed = [f"{w} {v}" for w, v in zip(words, numbers[::-1], strict=True)]
    (folder / "el.vec").write_text("\n".join([head, *mixed]) + "\n")
    code, out, _ = demalib_says(capsys, ALIGN)
    assert code == 0 and "did it work: no: a quick fit without" in out
    assert demalib_says(capsys, ALIGN + " --strict")[0] == 3
    assert "did it work" in demalib_says(capsys, "info out")[1]


def test_an_unknown_kind_of_hint_is_refused(folder, capsys):
    write_languages(folder, 20, n=300, d=20)
    code, _, err = demalib_says(capsys, ALIGN + " --hints spelling")
    assert code == 2 and "unknown hint spelling; use any of identical" in err


@pytest.mark.parametrize("shared", [0, 1])
def test_a_lexicon_serves_where_no_word_looks_alike(folder, capsys, shared):
    write_languages(folder, shared)
    assert demalib_says(capsys, ALIGN + " --lexicon train.txt")[0] == 0
    assert p_at_1(capsys) > 0.95


def test_a_file_in_the_way_is_told_before_the_work(folder, capsys):
    write_languages(folder, 20, n=300, d=20)
    (folder / "out").write_text("mine")
    code, _, err = demalib_says(capsys, ALIGN)
    assert code == 2 and "in the way" in err and (folder / "out").read_text() == "mine"


def test_an_alignment_that_cannot_be_kept_leaves_the_old_one(supervised, monkeypatch):
    before = {path.name: path.read_bytes() for path in (supervised / "out").iterdir()}
    mapping, pair = demalib.load_alignment("out")

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("demalib.alignment.save_mapping", full)
    with pytest.raises(OSError, match="No space"):
        demalib.save_alignment("out", mapping, pair)
    assert {path.name: path.read_bytes() for path in (supervised / "out").iterdir()} == before


@pytest.mark.parametrize("reverse", [False, True])
def test_translate_prints_what_retrieval_finds(supervised, capsys, reverse):
    mapping, pair = demalib.load_alignment("out")
    src, tgt = (pair.tgt, pair.src) if reverse else (pair.src, pair.tgt)
    asked = [src.words[3], src.words[2000]]
    flag = " --reverse" if reverse else ""
    code, out, err = demalib_says(capsys, f"translate out {' '.join(asked)} -k 4{flag}")
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["word", "rank", "translation", "translation_rank", "score", "cosine"]
    retriever = retrievers(mapping, pair)[reverse]
    i = torch.tensor([3, 2000])
    scores, columns = retriever.translate(i, Metric("csls"), 4)
    want = [
        [
            asked[q],
            str(int(i[q]) + 1),
            tgt.words[j],
            str(j + 1),
            f"{score:.4f}",
            f"{float(retriever.mapped[i[q]] @ retriever.targets[j]):.4f}",
        ]
        for q in range(2)
        for score, j in zip(scores[q].tolist(), columns[q].tolist(), strict=True)
    ]
    assert rows[1:] == want


def test_translate_uses_the_metric_of_its_direction(supervised):
    mapping, pair = demalib.load_alignment("out")
    mapping.info["config"] |= {"sigma2_src": 0.5, "sigma2_tgt": 0.02}
    for reverse, side, sigma2 in ((False, pair.src, 0.02), (True, pair.tgt, 0.5)):
        retriever = retrievers(mapping, pair)[reverse]
        scores, _ = retriever.translate(torch.tensor([5]), Metric("csls-d", sigma2=sigma2), 3)
        found = demalib.translate(mapping, pair, side.words[5], 3, "csls-d", reverse)
        np.testing.assert_allclose(found["score"], scores[0])


def test_an_unknown_word_is_one_line_with_near_spellings(supervised, capsys):
    _, pair = demalib.load_alignment("out")
    word = pair.src.words[100]
    code, out, err = demalib_says(capsys, f"translate out {word}x {word.upper()} -k 1")
    assert code == 2 and err.count("\n") == 1
    assert (
        f"'{word}x' is not among the 3,000 words of fi" in err and word in err.split("similar")[1]
    )
    assert out.count("\n") == 2 and word.upper() in out  # the known word is still answered
    code, out, err = demalib_says(capsys, f"translate out {pair.tgt.words[0]}")
    assert (code, out) == (2, "") and "a word of el" in err
    code, _, err = demalib_says(capsys, f"translate out {word} -k 0")
    assert code == 2 and "at least 1" in err
    with pytest.raises(DataError, match="similar spellings"):
        demalib.translate(*demalib.load_alignment("out"), word + "x")


def test_unseen_words_are_translated_by_their_sub_words(folder, capsys):
    """A second model is the first one turned, so that the right answers are known."""
    fasttext = pytest.importorskip("gensim.models.fasttext")
    rng = np.random.default_rng(0)
    words = language(FI, 400)
    text = [[words[i] for i in rng.integers(400, size=50)] for _ in range(80)] + [words]
    model = fasttext.FastText(text, vector_size=12, min_count=1, epochs=2, workers=1, bucket=2000)
    fasttext.save_facebook_model(model, "cc.fi.12.bin")
    turn, _ = np.linalg.qr(rng.standard_normal((12, 12)))
    words = [*model.wv.index_to_key, "unseenword"]
    there = Embedding(words, np.stack([model.wv[w] for w in words]) @ turn.astype(np.float32))
    save_embedding("el.vec", there)
    assert demalib_says(capsys, "align --src cc.fi.12.bin --tgt el.vec --out out")[0] == 0
    code, out, err = demalib_says(capsys, f"translate out unseenword {words[3]} -k 1")
    rows = [line.split() for line in out.splitlines()[1:]]
    assert (code, err) == (0, "")
    assert [row[:3] for row in rows] == [
        ["unseenword", "-", "unseenword"],
        [words[3], "4", words[3]],
    ]
    code, _, err = demalib_says(capsys, "translate out alsounseen --reverse")
    assert code == 2 and "'alsounseen' is not among the 401 words of el" in err
    Path("cc.fi.12.bin").unlink()
    code, _, err = demalib_says(capsys, "translate out unseenword")
    assert code == 2 and "cc.fi.12.bin: the fastText model" in err and err.count("\n") == 1
    assert demalib_says(capsys, f"translate out {words[3]}")[0] == 0  # known words need no model


def test_info_tells_what_was_done(supervised, capsys):
    code, out, _ = demalib_says(capsys, "info out")
    facts = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in out.splitlines())
    assert code == 0 and facts["languages"] == "fi → el" and facts["seed"] == "0"
    assert facts["words"] == "3,000 fi, 3,000 el" and facts["identical words"] == "0"
    assert facts["solver"].startswith("em") and float(facts["seconds"]) >= 0
    assert facts["did it work"].startswith("yes: a quick fit without")
    assert "lexicon" in facts["hints"] and facts["last step"] == "contrastive"
    assert facts["normalisation"] == "fi unit-center-unit; el unit-center-unit"
    assert "max_vocab=200000" in facts["settings"]
    assert 0 < float(facts["criterion"].split()[0]) < 1
    size = (supervised / "out" / "src.npz").stat().st_size
    assert facts["src.npz"] == f"{size / 1e3:,.0f} kB"
    code, _, err = demalib_says(capsys, "info nowhere")
    assert code == 2 and err.count("\n") == 1 and "no such folder" in err


@pytest.mark.parametrize("solver", ["procrustes", "msf", "shigeto"])
def test_gensim_finds_the_same_neighbours_and_precision(folder, solver):
    models = pytest.importorskip("gensim.models")
    write_languages(folder, shared=0, noise=1.8)
    main(shlex.split(f"{ALIGN} --lexicon train.txt --solver {solver}"))
    mapping, pair = demalib.load_alignment("out")
    retriever, gold = retrievers(mapping, pair)[0], read_lexicon("test.txt")
    want = judge(retriever, pair.src, pair.tgt, gold, Metric("csls"))
    assert 0.05 < (want["position"] == 1).mean() < 0.98  # neither all right nor all wrong
    for form, ending in (("vec", "vec"), ("word2vec", "bin")):
        assert main(["export", "out", "--format", form]) == 0
        src, tgt = (
            models.KeyedVectors.load_word2vec_format(
                f"out/{lang}.aligned.{ending}", binary=ending == "bin"
            )
            for lang in ("fi", "el")
        )
        assert (src.index_to_key, tgt.index_to_key) == (pair.src.words, pair.tgt.words)
        np.testing.assert_array_equal(src.vectors, retriever.mapped.numpy())  # every bit
        np.testing.assert_array_equal(tgt.vectors, retriever.targets.numpy())
        np.testing.assert_allclose(np.linalg.norm(tgt.vectors, axis=1), 1, atol=1e-6)
        read = Retriever(torch.tensor(src.vectors), torch.tensor(tgt.vectors))
        got = judge(read, pair.src, pair.tgt, gold, Metric("csls"))
        assert (got["position"] == 1).mean() == (want["position"] == 1).mean()
        for word in pair.src.words[:2000:500]:
            near = [w for w, _ in tgt.similar_by_vector(src[word], topn=10)]
            ours = demalib.translate(mapping, pair, word, 10, "nn")["translation"]
            assert near == ours.tolist()


def test_exports_are_read_back_by_ourselves(supervised, capsys):
    mapping, pair = demalib.load_alignment("out")
    retriever = retrievers(mapping, pair)[0]
    for form, ending in (("vec", "vec"), ("word2vec", "bin"), ("npz", "npz")):
        code, out, err = demalib_says(capsys, f"export out --format {form} --out new/place")
        assert (code, err) == (0, "") and f"new/place/el.aligned.{ending}" in out
        for lang, vectors in (("fi", retriever.mapped), ("el", retriever.targets)):
            back = demalib.read_vectors(f"new/place/{lang}.aligned.{ending}")
            assert back.lang == lang
            np.testing.assert_array_equal(back.vectors, vectors.numpy())
    with np.load("new/place/fi.aligned.npz", allow_pickle=False) as data:
        assert data["words"].tolist() == pair.src.words


def test_exported_words_lie_where_transform_puts_raw_vectors(supervised):
    mapping, pair = demalib.load_alignment("out")
    main(["export", "out", "--format", "npz"])
    raw = demalib.read_vectors("fi.vec").vectors
    placed = mapping.transform(raw[10:20])  # ten words alone, with the mean of all
    np.testing.assert_allclose(
        placed, demalib.read_vectors("out/fi.aligned.npz").vectors[10:20], atol=1e-6
    )


def test_the_dictionary_has_every_word_and_marks_mutual_pairs(supervised, monkeypatch):
    monkeypatch.setattr("demalib.tiles.CHUNK_NUMBERS", 3000 * 700)  # five chunks
    mapping, pair = demalib.load_alignment("out")
    assert main(["export", "out", "--format", "dictionary"]) == 0
    lines = Path("out/fi-el.dictionary.tsv").read_text(encoding="utf-8").splitlines()
    header, rows = lines[0].split("\t"), [line.split("\t") for line in lines[1:]]
    assert header == ["source", "target", "csls", "cosine", "source_rank", "target_rank", "mutual"]
    assert [row[0] for row in rows] == pair.src.words
    retriever = retrievers(mapping, pair)[0]
    scores = torch.cat(
        [part.clone() for _, part in retriever.iter_scores(torch.arange(3000), Metric("csls"))]
    )
    best, there = scores.max(dim=1)
    back = scores.argmax(dim=0)
    assert [row[1] for row in rows] == [pair.tgt.words[j] for j in there]
    assert [row[2] for row in rows] == [f"{score:.6f}" for score in best.tolist()]
    assert [int(row[5]) for row in rows] == (there + 1).tolist()
    mutual = [int(row[6]) for row in rows]
    assert mutual == (back[there] == torch.arange(3000)).int().tolist() and 0 < sum(mutual) < 3000


def test_files_of_two_alignments_are_not_mixed(supervised, capsys):
    (supervised / "out" / "src.npz").write_bytes((supervised / "out" / "tgt.npz").read_bytes())
    code, _, err = demalib_says(capsys, "translate out x")
    assert code == 2 and "two alignments are mixed" in err


@pytest.mark.parametrize(
    "command", ["align", "info", "translate", "evaluate", "export", "fetch", "cache"]
)
def test_every_command_shows_examples(command, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert f"examples:\n  demalib {command}" in capsys.readouterr().out


SECTION = (BOOK / "vectors.md").read_text(encoding="utf-8")
COMMAND = re.compile(r"^ {4,6}demalib (.*)$", re.M)


def write_readme_files(folder, langs=("en", "de"), files=("wiki.en", "cc.de.300")):
    n = 600
    src, tgt = ["cat", "dog", *language(FI, n - 2)], ["katze", "hund", *language(EL, n - 2)]
    write_languages(folder, 100, n, 20, 0.1, files, (src, tgt))
    for split in ("train", "test"):
        (folder / f"{split}.txt").rename(folder / f"{'-'.join(langs)}.{split}.txt")


def python_blocks():
    return re.findall(r"^```python\n(.*?)^```$", SECTION, re.M | re.S)


@pytest.fixture
def readme_folder(folder):
    write_readme_files(folder)
    (folder / "en-de.test.txt").rename("en-de.txt")
    (folder / "words.txt").write_text("cat\ndog\n")
    for name, model in (("old", "wiki.en"), ("new", "cc.de.300"), ("wiki.fr", "cc.de.300")):
        Path(f"{name}.vec").write_bytes(Path(f"{model}.vec").read_bytes())
    return folder


def test_the_page_on_own_vectors_runs_as_printed(readme_folder, capsys):
    commands = COMMAND.findall(SECTION.split("## Your own benchmark")[0])
    assert len(commands) == 14
    for command in commands:
        code, out, err = demalib_says(capsys, command)
        assert (code, err) == (0, ""), command
        if command.startswith("translate aligned cat"):
            best = [line.split() for line in out.splitlines()[1:]]
            assert [best[0][2], best[3][2]] == ["katze", "hund"]
        if command.startswith("translate aligned Katze"):
            assert json.loads(out)[0]["translation"] == "cat"
        if command.startswith("translate aligned --words"):
            assert out.splitlines()[1].split("\t")[2] == "katze"
        if command.startswith("align --src wiki.en.vec"):
            assert "wiki.en.vec is en, cc.de.300.vec is de" in out
        if command.startswith("translate together"):
            assert out.splitlines()[1].split()[2] == "katze"  # the made French is German
        if "--same-language" in command:
            assert "moved most: " in out
    assert Path("aligned/de.aligned.vec").is_file()
    assert Path("dictionaries/de-en.dictionary.tsv").is_file()


def run_blocks(*needed):
    """Execute the first block of the page, and those that contain a word; return the names."""
    names = {}
    for number, code in enumerate(python_blocks()):
        if not number or any(word in code for word in needed):
            exec(compile(code, "vectors.md", "exec"), names)
    return names


def test_the_python_of_that_page_runs_as_printed(readme_folder, capsys):
    names = run_blocks()
    assert names["mapped"].shape == (1, 20) and Path("aligned/en.aligned.vec").is_file()
    assert "katze" in capsys.readouterr().out
    assert names["mapping"].config.pair == "en-de"
    assert python_blocks()[0].count("\n") - python_blocks()[0].count("\n\n") <= 12
    assert names["space"].langs == ("en", "de")


def test_the_result_is_a_layer_and_a_table_of_weights(readme_folder):
    names = run_blocks("torch.nn")
    layer, pair = names["layer"], names["pair"]
    row = names["words"].tolist().index("katze")
    targets = retrievers(names["mapping"], pair)[0].targets
    assert layer.weight.requires_grad is False
    torch.testing.assert_close(layer(torch.tensor([row]))[0], targets[pair.tgt.index["katze"]])
    weights = names["weights"]
    assert weights["token"].tolist() == ["katze"] * 5 + ["hund"] * 5
    assert weights["source"][0] == "cat" and weights["source"][5] == "dog"
    np.testing.assert_allclose(weights.groupby("token")["weight"].sum(), 1)
    assert [pair.src.words[i] for i in weights["source_row"]] == weights["source"].tolist()
    back = retrievers(names["mapping"], pair)[1]
    cosines = back.mapped[pair.tgt.index["katze"]] @ back.targets.T
    want = torch.softmax(cosines.topk(5).values.double() / 0.1, dim=0)
    np.testing.assert_allclose(weights["weight"][:5], want, rtol=1e-4)


@pytest.mark.parametrize("library", ["gensim", "sklearn", "faiss"])
def test_other_libraries_find_the_same_neighbours(readme_folder, library):
    pytest.importorskip(library)
    names = run_blocks("np.load", f"import {library}", f"from {library}")
    pair, mapping = names["pair"], names["mapping"]
    targets = retrievers(mapping, pair)[0].targets
    near = (torch.from_numpy(names["mapped"]) @ targets.T).topk(3, dim=1).indices[0].tolist()
    want = [pair.tgt.words[j] for j in near]
    if library == "gensim":
        ours = demalib.translate(mapping, pair, "cat", 3, "nn")["translation"].tolist()
        assert [word for word, _ in names["best"]] == ours
    elif library == "sklearn":
        assert names["found"][0].tolist() == want
    else:
        assert [names["words"][j] for j in names["rows"][0]] == want


def test_the_benchmark_of_that_page_runs_as_printed(folder, capsys, monkeypatch):
    root = Path(__file__).resolve().parents[1]
    text = SECTION.split("## Your own benchmark")[1]
    name, value = re.findall(r"^    export (\w+)=(\w+)$", text, re.M)[0]
    monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setattr(sys, "path", list(sys.path))
    for path in ("02_train.ipynb", "jupytext.toml"):  # so that the folder is like a checkout
        Path("notebooks").mkdir(exist_ok=True)
        Path("notebooks", path).write_bytes((root / "notebooks" / path).read_bytes())
    Path(value).mkdir()
    write_readme_files(Path(value), ("de", "sv"), ("wiki.de", "cc.sv.300"))
    Path("mine.py").write_text("from demalib.baselines.procrustes import fit\n")
    commands = COMMAND.findall(text)
    assert len(commands) == 3
    for command in commands:
        code, out, err = demalib_says(capsys, command)
        assert code == 0, err
    assert "mine:fit" in out and "own, own" in out  # of the table
