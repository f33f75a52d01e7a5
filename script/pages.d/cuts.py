"""A network between a program and its service, which comes and goes. It knows what was asked over
it, and of which questions the answer was lost on the way back."""

import asyncio
import collections
import contextlib
import re
import threading

from browser import check, eventually

# In seconds: for how long the network is there, and for how long it is away.
THERE, AWAY = (2.5, 5.5), (0.5, 2)

# It stays until so many answers were carried whole. Where a busy machine takes long for one, that
# one would be cut more often than its job tries again.
ANSWERS = 4

LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class Network:
    """Listens on a port of its own, and carries what comes there to the service's."""

    def __init__(self, service_port, name, draw):
        """`name` is what a request is called, or None as long as that isn't whole or is no
        question. `draw` says when the network goes and comes."""
        self.service_port, self.name, self.draw = service_port, name, draw
        # By a question's name: how often it was asked, and its answer not carried whole.
        self.asked, self.lost = collections.Counter(), collections.Counter()
        self.cuts, self.answers, self.links = 0, 0, set()
        self.isRepeating = self.isDeath = False
        self.loop, self.going, self.port = asyncio.new_event_loop(), None, 0
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self._do(self._open())

    def _do(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=20)

    def begin(self):
        """Comes and goes from now on."""
        self.going = asyncio.run_coroutine_threadsafe(self._come_and_go(), self.loop)

    def stay(self):
        """Is there from now on."""
        if self.going and self.going.done():
            self.going.result()
        check(self.cuts or not self.going, "the network was never cut")
        if self.going and self.going.cancel():
            self._do(self._open())
        self.going = None

    @contextlib.contextmanager
    def death(self):
        """The program dies within: an answer that it had may be one that it never saved, also one
        that came only just before."""
        self.isDeath = True
        yield
        eventually(lambda: not self.links, "a connection outlives its program")
        self.isDeath = False

    async def _open(self):
        if self.port and self.server.is_serving():
            return
        self.server = await asyncio.start_server(self._carry, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    async def _come_and_go(self):
        while True:
            wanted = self.answers + ANSWERS
            await asyncio.sleep(self.draw.uniform(*THERE))
            while self.answers < wanted:
                await asyncio.sleep(0.1)
            self.cuts += 1
            self.server.close()
            for link in list(self.links):
                link.cut()
            await asyncio.sleep(self.draw.uniform(*AWAY))
            await self._open()

    async def _carry(self, reader, writer):
        try:
            onward = await asyncio.open_connection("127.0.0.1", self.service_port)
        except OSError:
            return writer.transport.abort()
        link = Link(self, writer, onward[1])
        self.links.add(link)
        ways = [asyncio.create_task(pump(reader, onward[1], link.asks)),
                asyncio.create_task(pump(onward[0], writer, link.answers))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        link.end()
        self.links.discard(link)

    async def repeat(self, request):
        """What no network may do: asks once more what was answered."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.service_port)
        writer.write(request)
        answer = b""
        while not is_whole(answer):
            part = await reader.read(65_536)
            if not part:
                break
            answer += part
        writer.close()


class Link:
    """A connection, with the last question on it."""

    def __init__(self, network, *ends):
        self.network, self.ends = network, ends
        self.request, self.answer, self.open, self.answered = b"", b"", None, None

    def asks(self, part):
        if self.answer:
            self.request, self.answer, self.open = b"", b"", None
        self.request += part
        name = self.network.name(self.request)
        if name and name != self.open:
            self.open, self.answered = name, None
            self.network.asked[name] += 1

    def answers(self, part):
        self.answer += part
        if not is_whole(self.answer):
            return
        self.network.answers += 1
        if not self.open:
            return
        if self.network.isRepeating:
            asyncio.ensure_future(self.network.repeat(self.request))
        self.open, self.answered = None, self.open

    def cut(self):
        for end in self.ends:
            end.transport.abort()

    def end(self):
        name = self.open or self.network.isDeath and self.answered
        if name:
            self.network.lost[name] += 1
        for end in self.ends:
            end.close()


async def pump(reader, writer, note):
    try:
        while part := await reader.read(65_536):
            note(part)
            writer.write(part)
            await writer.drain()
    except OSError:
        # Cut: the other way ends with this one.
        pass


def is_whole(answer):
    """By its length, or by the end of the last of its pieces."""
    head, _, body = answer.partition(b"\r\n\r\n")
    length = LENGTH.search(head)
    return len(body) >= int(length[1]) if length else body.endswith(b"0\r\n\r\n")


@contextlib.contextmanager
def lost_answer(page, address):
    """The program has what the page sends there within, whose first answer is lost to the page."""
    session, answers = page.context.new_cdp_session(page), []
    session.on("Fetch.requestPaused", lambda paused: answers.append(paused["requestId"]))
    pattern = {"urlPattern": address, "requestStage": "Response"}
    session.send("Fetch.enable", {"patterns": [pattern]})
    yield
    eventually(lambda: page.wait_for_timeout(20) or answers, "the program gives no answer", 30)
    session.send("Fetch.failRequest", {"requestId": answers[0], "errorReason": "ConnectionReset"})
    session.detach()
