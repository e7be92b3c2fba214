"""Rows over urllib3: see README.md."""

import os
import sys
import threading

import urllib3

URL, FIRST, STOP = sys.argv[1], int(sys.argv[2]), sys.argv[3]
POOL = urllib3.PoolManager(
    maxsize=4,
    timeout=30,
    retries=urllib3.Retry(
        total=1000,
        status_forcelist=[429, 503],
        # POST, too: the key of the row makes it safe.
        allowed_methods=None,
        respect_retry_after_header=True,
        backoff_factor=0.1,
        backoff_max=1,
    ),
)
stored = {}


def send(client):
    seq = 0
    while not os.path.exists(STOP):
        row = {"client": client, "seq": seq, "text": f"{client}-{seq}"}
        answer = POOL.request("POST", URL, json=row)
        if answer.status != 200:
            print(f"client {client}, row {seq}: {answer.status} {answer.data}", file=sys.stderr)
            return
        seq += 1
    stored[client] = seq


threads = [threading.Thread(target=send, args=(FIRST + n,)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for client, rows in sorted(stored.items()):
    print(client, rows)
sys.exit(len(stored) != 4)
