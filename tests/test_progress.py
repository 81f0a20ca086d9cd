import io
import sys
import time

import pytest

from demalib.progress import progress

CODE = "from demalib.progress import progress; print(sum(progress(range(3), desc='em')))"


@pytest.fixture(scope="module")
def kernel():
    manager = pytest.importorskip("jupyter_client.manager")
    manager, client = manager.start_new_kernel(kernel_name="python3")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def outputs(client, allow_stdin):
    """Names of what a cell sends to the front end."""
    asked = client.execute(CODE, allow_stdin=allow_stdin)
    seen, until = [], time.time() + 600
    while time.time() < until:
        message = client.get_iopub_msg(timeout=600)
        if message["parent_header"].get("msg_id") != asked:
            continue  # a late answer to what was asked while the kernel started
        seen.append(message["msg_type"])
        if message["content"].get("execution_state") == "idle":
            return seen, message
    raise TimeoutError


def test_a_person_in_a_notebook_sees_a_bar_and_a_notebook_without_a_screen_has_none(kernel):
    watched, _ = outputs(kernel, allow_stdin=True)  # as JupyterLab does
    assert "display_data" in watched and "stream" in watched
    silent, _ = outputs(kernel, allow_stdin=False)  # as papermill, nbconvert and nbval do
    assert "stream" in silent and "error" not in silent
    assert "display_data" not in silent and "comm_open" not in silent


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_has_a_bar_and_a_pipe_has_none(terminal, monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", stream)
    assert list(progress(range(3), desc="em")) == [0, 1, 2]
    assert ("em" in stream.getvalue()) == terminal
