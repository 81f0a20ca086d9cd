import torch
from conftest import shaped_pair

from demalib.baselines import muse
from demalib.config import Config


def test_the_orthogonal_update_moves_towards_rotations(gen):
    W = torch.eye(4) + 0.1 * torch.randn(4, 4, generator=gen)
    before = (W @ W.T - torch.eye(4)).norm()
    for _ in range(2000):
        W = muse.orthogonalise(W)
    assert (W @ W.T - torch.eye(4)).norm() < 1e-3 * before


def test_rotations_are_left_alone(gen):
    q, _ = torch.linalg.qr(torch.randn(4, 4, generator=gen, dtype=torch.float64))
    torch.testing.assert_close(muse.orthogonalise(q), q)


def test_the_judge_learns_to_tell_words_apart_and_the_map_to_fool_it(gen):
    x = torch.randn(200, 3, generator=gen) + 2
    game = muse.Game(x, -x, 16, gen)

    def gap():
        logits = game.logits(game.W.detach()).detach()
        return float(logits[: muse.BATCH].mean() - logits[muse.BATCH :].mean())

    for _ in range(60):
        game._descend(game.weights, game.logits(game.W.detach()), game.labels, 0.1)
    assert gap() > 1  # mapped source words get the larger logits
    before = gap()
    for _ in range(60):
        game._descend([game.W], game.logits(game.W), 1 - game.labels, 0.1)
    assert gap() < before


def test_the_history_has_a_row_per_epoch_and_a_falling_rate(rng):
    history = muse.fit(shaped_pair(rng, n=150), Config()).history
    assert history["round"].tolist() == [1, 2]
    assert history["rate"].is_monotonic_decreasing and history["rate"][0] == 0.3 * muse.DECAY
    assert history["criterion"].between(-1, 1).all()
