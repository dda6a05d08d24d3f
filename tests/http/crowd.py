# SPDX-License-Identifier: Apache-2.0
"""Many clients at once, as a program of its own: event streams, idle and keep-alive connections, slow ones.

    python -m tests.http.crowd PORT TOKEN STREAMS IDLE KEEP_ALIVE SLOW

A client that is cut off connects again. Each second it prints a line: connections that are open, streams that
heard something within the last 10 s, and answers to keep-alive requests so far.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

REST_S = 0.5
"""Between being cut off and coming again."""
ADDRESSES = 40
"""How many the crowd has."""
Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]


@dataclass
class Crowd:
    port: int
    token: str
    open: int = 0
    answers: int = 0
    heard_at: dict[int, float] = field(default_factory=dict)
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    async def be(self, client: Client) -> None:
        """One member, for ever."""
        number = next(self.numbers)
        source = (f"127.0.1.{number % ADDRESSES + 1}", 0)
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=source)
            except OSError:
                await asyncio.sleep(REST_S)
                continue
            self.open += 1
            try:
                await client(reader, writer)
            except (OSError, asyncio.IncompleteReadError):
                pass
            finally:
                self.open -= 1
                writer.close()
            await asyncio.sleep(REST_S)

    async def stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = next(self.numbers)
        writer.write(
            b"GET /api/v1/stats/stream?topics=system HTTP/1.1\r\nHost: weir\r\n"
            b"Authorization: Bearer " + self.token.encode() + b"\r\n\r\n"
        )
        try:
            while await reader.read(65_536):
                self.heard_at[number] = time.monotonic()
        finally:
            self.heard_at.pop(number, None)

    async def idle(self, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def keep_alive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"GET /api/v1/queues HTTP/1.1\r\nHost: weir\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            self.answers += 1
            await asyncio.sleep(10)

    async def slow_head(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._slowly(reader, writer, b"GET / HTTP/1.1\r\nHost: ", b"weir")

    async def slow_body(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"POST /api/v1/auth/sign-in HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n"
        await self._slowly(reader, writer, head + b"Content-Length: 60000\r\n\r\n", b" ")

    async def _slowly(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, begin: bytes, more: bytes
    ) -> None:
        """One byte in 7 s."""
        writer.write(begin)
        ended = asyncio.ensure_future(reader.read())
        while not (await asyncio.wait([ended], timeout=7))[0]:
            writer.write(more)
        ended.result()

    async def tell(self) -> None:
        while True:
            await asyncio.sleep(1)
            since = time.monotonic() - 10
            heard = sum(at > since for at in self.heard_at.values())
            print(self.open, heard, self.answers, flush=True)


async def main(port: int, token: str, streams: int, idle: int, keep_alive: int, slow: int) -> None:
    crowd = Crowd(port, token)
    members = (
        [crowd.stream] * streams
        + [crowd.idle] * idle
        + [crowd.keep_alive] * keep_alive
        + [crowd.slow_head] * (slow // 2)
        + [crowd.slow_body] * (slow - slow // 2)
    )
    async with asyncio.TaskGroup() as group:
        group.create_task(crowd.tell())
        for count, member in enumerate(members):
            group.create_task(crowd.be(member))
            if count % 50 == 0:
                await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:7])))
