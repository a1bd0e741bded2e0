"""Run a script as several workers of this machine, each a process of its own."""

import json
import os
import socket
import subprocess
import sys

from patience import PATIENCE

ENVIRONMENT = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "2", "CUDA_VISIBLE_DEVICES": "-1"}


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def run(script: str, workers: int, *arguments: object) -> list[subprocess.CompletedProcess[str]]:
    """Run a script as one process or as some workers; return how each ended."""
    addresses = [f"localhost:{port}" for port in free_ports(workers)]
    processes = []
    for index in range(workers):
        task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        config = {"TF_CONFIG": json.dumps(task)} if workers > 1 else {}
        processes.append(
            subprocess.Popen(
                [sys.executable, script, *map(str, arguments)],
                env={**os.environ, **ENVIRONMENT, **config},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    ended = []
    try:
        for process in processes:
            output, errors = process.communicate(timeout=PATIENCE)
            ended.append(subprocess.CompletedProcess(process.args, process.returncode, output, errors))
    finally:
        for process in processes:
            process.kill()
    return ended
