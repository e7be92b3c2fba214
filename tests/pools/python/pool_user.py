"""Uses a pool as tests/pools/check.py asks: `pool_user.py CONFIGURATION`."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sqlalchemy import create_engine, text

names = {"create_engine": create_engine}
exec(Path(sys.argv[1]).read_text(), names)
engine = names["engine"]
held = []


def take_one():
    connection = engine.connect()
    held.append(connection)
    connection.execute(text("SELECT 1"))


def take(connections):
    with ThreadPoolExecutor(connections) as users:
        taken = [users.submit(take_one) for _ in range(connections)]
    for one in taken:
        one.result()


def give():
    while held:
        held.pop().close()


def run(sql):
    with engine.connect() as connection:
        connection.execute(text(sql))


def obey(command, argument):
    match command:
        case "take":
            take(int(argument))
        case "give":
            give()
        case "run":
            run(argument)
        case _:
            raise ValueError(command)


print("ok 0", flush=True)
for line in sys.stdin:
    command, _, argument = line.strip().partition(" ")
    start, error = time.monotonic(), ""
    try:
        obey(command, argument)
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}".replace("\n", " ")
    milliseconds = int((time.monotonic() - start) * 1e3)
    print(f"error {milliseconds} {error}" if error else f"ok {milliseconds}", flush=True)
