"""``python -m tests.qdrant_loopback``: serve until SIGTERM or Ctrl-C.

Once it accepts connections, it prints its ports as one line of JSON.
"""

import argparse
import json
import signal
import threading

from tests.qdrant_loopback.calls import Engine
from tests.qdrant_loopback.cluster import Cluster
from tests.qdrant_loopback.server import Control, Loopback


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.qdrant_loopback", description=__doc__)
    parser.add_argument("--port", type=int, default=6333, help="on loopback; 0 for a free one")
    parser.add_argument("--control-port", type=int, help="for requests of faults; 0 for a free one")
    parser.add_argument("--shards", type=int, help="simulate three nodes with this many shards")
    parser.add_argument("--replicas", type=int, default=2, help="of each shard, on three nodes")
    options = parser.parse_args()

    is_over = threading.Event()
    for sent in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sent, lambda *_: is_over.set())
    engine = Engine()
    if options.shards is not None:
        engine.client = Cluster(options.shards, options.replicas)
    loopback = Loopback(options.port, engine)
    ports = {"port": loopback.port}
    if options.control_port is not None:
        ports["control_port"] = Control(options.control_port, loopback).port
    print(json.dumps(ports), flush=True)
    is_over.wait()


if __name__ == "__main__":
    main()
