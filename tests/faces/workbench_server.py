"""Starts a workbench: a real `shoal web` in a process of its own, or one in this process, which costs far less."""

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "web"))

from workbench_here import Here


@contextmanager
def workbench(folder, *options):
    """The address of a running workbench whose private workspace is made in `folder`, and is gone afterwards."""
    command = [sys.executable, "-m", "shoal", "web", "--port", "0", "--no-browser", "--folder", str(folder), *options]
    environment = {**os.environ, "COLUMNS": "300", "XDG_STATE_HOME": str(folder), "HOME": str(folder)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("Workbench: "), line + process.stderr.read()
            yield line.split()[1]
        finally:
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=30)[1]
    assert "Traceback" not in said, said
    assert list(folder.glob("shoal-room-*")) == []


@contextmanager
def near(folder, token=None, **settings):
    """The address and the controller of a workbench in this process whose jobs are done here too; once in a process."""
    uvicorn = __import__("pytest").importorskip("uvicorn")
    from shoal.web.access import Access
    from shoal.web.app import WebSettings, create_web_app
    from shoal.web.controller import Controller
    from shoal.web.jobs import Jobs
    from shoal.web.workspace import Workspace

    access, workspace = Access.of("127.0.0.1", token=token), Workspace.create(folder)
    controller = Controller(
        workspace=workspace, jobs=Jobs(workspace, warm=False, spawn=Here), access=access, scores="models" in settings
    )
    app = create_web_app(WebSettings(access=access, **settings), controller)
    options = {"access_log": False, "log_level": "error", "ws": "none", "timeout_graceful_shutdown": 3}
    server = uvicorn.Server(uvicorn.Config(app, **options))
    with socket.create_server(("127.0.0.1", 0)) as sock, _without_errors():
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{sock.getsockname()[1]}/", controller
        server.should_exit = True
        thread.join(30)
    controller.close()
    assert list(folder.glob("shoal-room-*")) == []


@contextmanager
def _without_errors():
    """No handler of a page may fail unseen."""
    said = []
    listener = logging.Handler(logging.ERROR)
    listener.emit = lambda record: said.append(record.getMessage())
    logging.getLogger().addHandler(listener)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(listener)
    assert said == []
