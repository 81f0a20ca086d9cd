import pickle
from collections import OrderedDict

import pytest

from demalib.data.pickles import read_data

DATA = [
    [],
    ["text", "日本", "x" * 300, 1, 300, 70_000, -5, 1.5, None, True, False],
    {"a": {"b": [1, (2,), (2, 3), (2, 3, 4), (2, 3, 4, 5), ()]}, 3: "c"},
    (["a", "a", "a"] * 500, {str(i): i for i in range(3000)}, {}),
]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("data", DATA)
def test_plain_data_comes_back(data, protocol):
    assert read_data(pickle.dumps(data, protocol)) == data


class Hostile:
    def __reduce__(self):
        return (open, ("touched", "w"))


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: ["a", x], lambda x: {"a": (1, x)}])
def test_a_hostile_pickle_is_refused_and_does_nothing(tmp_path, monkeypatch, wrap, protocol):
    monkeypatch.chdir(tmp_path)
    raw = pickle.dumps(wrap(Hostile()), protocol)
    with pytest.raises(ValueError, match="refused|damaged"):
        read_data(raw)
    assert not (tmp_path / "touched").exists()
    pickle.loads(raw)  # the file would have done it
    assert (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    "raw",
    [
        b"cos\nsystem\n.",  # GLOBAL
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",  # STACK_GLOBAL
        b"(S'true'\nios\nsystem\n.",  # INST
        b"\x80\x02\x82\x01.",  # EXT1
        b"\x80\x02](e)R.",  # REDUCE
        b"\x80\x02)\x81.",  # NEWOBJ
        b"\x80\x02}}b.",  # BUILD
        b"Pid\n.",  # PERSID
        b"\x80\x05\x97.",  # NEXT_BUFFER
    ],
)
def test_every_instruction_that_could_import_or_call_is_refused(raw):
    with pytest.raises(ValueError, match="refused"):
        read_data(raw)


def test_a_harmless_class_is_refused_too():
    with pytest.raises(ValueError, match="refused"):
        read_data(pickle.dumps(OrderedDict(a=1), 4))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"]",
        b"e.",
        b"\x80\x03(",
        b"\x80\x03}(K\x01u.",
        b"K\x01K\x02.",
        b"](]]}s.",
        b"\x8c\xffa.",
    ],
)
def test_damage_is_a_value_error(raw):
    with pytest.raises(ValueError, match="."):
        read_data(raw)


def test_a_piece_knows_nothing_of_what_stands_before_it():
    assert read_data(b"}(h\x1bK\x01\x8c\x01aK\x02u.") == {None: 1, "a": 2}
