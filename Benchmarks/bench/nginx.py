"""nginx as a ceiling: it takes the same posts, answers 202, and stores nothing."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from bench.programs import RunFailed, end

START_SECONDS_MAX = 10

CONFIGURATION = """\
daemon off;
pid {folder}/pid;
error_log {folder}/log;
worker_processes auto;
events {{ worker_connections 2048; }}
http {{
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location / {{ return 202; }}
  }}
}}
"""


def program():
    """Where nginx is; None where it is missing. Debian keeps it where only root's PATH leads."""
    return shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def version():
    """As in `nginx/1.22.1`; None where it is missing."""
    if not program():
        return None
    said = subprocess.run([program(), "-v"], capture_output=True, text=True).stderr
    return said.strip().rsplit(" ", 1)[-1]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextlib.contextmanager
def server(data):
    """nginx on a port of its own, which is what the block is given."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=data))
    port = free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(folder=folder, port=port), encoding="utf-8")
    process = subprocess.Popen(
        [program(), "-e", folder / "log", "-p", folder, "-c", configuration],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_it_listens(process, port, folder / "log")
        yield port
    finally:
        end(process)
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_it_listens(process, port, log):
    limit = time.monotonic() + START_SECONDS_MAX
    while True:
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > limit:
            said = log.read_text(encoding="utf-8") if log.exists() else ""
            raise RunFailed(f"nginx does not listen: {said.strip()}")
        time.sleep(0.01)
