"""The client, against the board's half of the protocol behind a TCP port."""

import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import meshalloc


def seen(events):
    return [
        (event.number, event.job, event.at, event.what, event.processors, event.blocks)
        for event in events
    ]


@pytest.mark.parametrize(
    "machine, strategy, scheduler",
    [
        ((9, 7), "first-fit", "fcfs"),
        ("mesh 16x16", "free-submesh-list", "sjf"),
        ("torus 4x4x4", "naive", "easy"),
    ],
)
def test_a_board_decides_and_answers_as_a_controller(board, machine, strategy, scheduler):
    rng = random.Random(7)
    here = meshalloc.Controller(machine, strategy, scheduler, jobs=1000)
    with meshalloc.Client(board.endpoint, virtual_clock=True) as there:
        there.reset(now=0)
        there.configure(machine, strategy, scheduler, now=0)
        sides = here.occupancy().shape
        assert there.machine.split()[-1] == "x".join(map(str, sides))
        assert strategy in there.strategies
        present, refused, granted = [], 0, 0
        for now in range(1, 400):
            if present and rng.random() < 0.45:
                job = present.pop(rng.randrange(len(present)))
                done = [side.release(job, now=now) for side in (here, there)]
                assert done[0] == done[1]
            elif rng.random() < 0.05:
                block = [rng.randrange(side) for side in sides], [1] * len(sides)
                for side in (here, there):
                    change = side.mark_faulty if now % 2 else side.clear_faulty
                    change(*block, now=now)
            else:
                shape = tuple(rng.randint(1, 1 + side // 2) for side in sides)
                options = dict(now=now, wait=rng.random() < 0.8, estimate=rng.randint(1, 100))
                options["slices"] = rng.choice((1, 1, 1, 2, 3))
                options["priority"] = rng.choice((0, 0, rng.randrange(200), 2**64 - 1))
                options["preemptible"] = rng.random() < 0.3
                options["tolerate"] = rng.choice((0, 0, 1, 2, 255))
                outcomes = []
                for side in (here, there):
                    try:
                        outcomes.append(side.submit(now, shape, **options))
                    except meshalloc.Refused as error:
                        outcomes.append((str(error), error.reason, error.is_temporary))
                assert outcomes[0] == outcomes[1]
                if outcomes[0] is None:
                    present.append(now)
                else:
                    refused += 1
            both = [seen(side.events()) for side in (here, there)]
            assert both[0] == both[1]
            granted += len(both[0])
            if now % 20 == 0:
                assert here.statistics() == there.statistics()
                assert (here.occupancy() == there.occupancy()).all()
                held = {job: here.blocks(job) for job in present}
                assert {job: there.blocks(job) for job in present} == held
                slices = {job: here.slices(job) for job in present}
                assert {job: there.slices(job) for job in present} == slices
                jobs = there.jobs()
                assert sorted(jobs) == sorted(present)
                assert all((jobs[job] == 0) == (held[job] == []) for job in present)
        assert refused and granted > 50


def test_leases_end_by_the_clock_of_the_board(board):
    with meshalloc.Client(board.endpoint) as client:
        client.submit(5, (3, 2), lease=200)
        client.submit(6, (16, 16))
        (granted,) = client.events()
        assert (granted.what, granted.blocks) == ("granted", [((0, 0), (3, 2))])
        assert client.largest()[0] == 16 * 14
        assert client.why(5) is None and client.why(6) == "too-few-free"
        with pytest.raises(meshalloc.Misuse, match="no job"):
            client.why(7)
        begun = time.monotonic()
        happened = []
        while len(happened) < 2 and time.monotonic() < begun + 20:
            happened += client.events()
        ended, second = happened
        assert (ended.job, ended.what, ended.processors) == (5, "lease-ended", 6)
        assert 150 <= ended.at - granted.at < 2000
        assert (second.job, second.what, second.processors) == (6, "granted", 256)
        assert client.jobs() == {6: 256} and client.largest() == (0, None)


def test_wrong_use(board):
    client = meshalloc.Client(board.endpoint)
    assert repr(client) == f'Client("{board.endpoint}")'
    client.submit(1, (2, 2))
    for wrong, text in [
        (lambda: client.release(2), "no job"),
        (lambda: client.submit(2, (2, 2), now=3), "virtual_clock=True"),
        (lambda: client.mark_faulty((16, 0), (1, 1)), "no block of the mesh 16x16"),
        (lambda: client.configure((4, 4), "first-fot"), "first-fit"),
        (lambda: meshalloc.Client("tcp:127.0.0.1"), "expected tcp:HOST:PORT"),
        (lambda: meshalloc.Client("serial:/dev/ttyACM0@9600"), "BAUD is one of"),
        (lambda: meshalloc.Client(board.endpoint, timeout=-1), "0.001 to 3600"),
    ]:
        with pytest.raises(meshalloc.Misuse, match=text):
            wrong()
    with pytest.raises(meshalloc.Refused) as refused:
        client.submit(3, (16, 16), wait=False)
    assert (refused.value.reason, refused.value.is_temporary) == ("too-few-free", True)
    client.close()
    client.close()
    with pytest.raises(meshalloc.Misuse, match="closed"):
        client.events()
    # The board keeps its jobs.
    with meshalloc.Client(board.endpoint, virtual_clock=True) as again:
        assert again.jobs() == {1: 4}
        with pytest.raises(meshalloc.Misuse, match="`now` is missing"):
            again.release(1)


def test_a_line_that_fails(board):
    with pytest.raises(meshalloc.LineError, match="cannot open"):
        meshalloc.Client("serial:/dev/no-such-port")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = "tcp:127.0.0.1:%d" % silent.getsockname()[1]
        with pytest.raises(meshalloc.LineError, match="no reply.*sent 2 times"):
            meshalloc.Client(endpoint, timeout=0.02, tries=2)
    with pytest.raises(meshalloc.LineError, match="cannot connect"):
        meshalloc.Client(endpoint)
    client = meshalloc.Client(board.endpoint)
    board.close()
    with pytest.raises(meshalloc.LineError, match="the line to the controller failed"):
        client.submit(1, (2, 2))


class Relay:
    """A line that stays when the board at its end is another one."""

    def __init__(self, board):
        self.server = socket.create_server(("127.0.0.1", 0))
        self.endpoint = "tcp:127.0.0.1:%d" % self.server.getsockname()[1]
        self.connect(board)
        threading.Thread(target=self.forward, daemon=True).start()

    def connect(self, board):
        host, port = board.endpoint.removeprefix("tcp:").rsplit(":", 1)
        self.board = socket.create_connection((host, int(port)))
        threading.Thread(target=self.back, args=(self.board,), daemon=True).start()

    def forward(self):
        self.client, _ = self.server.accept()
        while data := self.client.recv(4096):
            self.board.sendall(data)
        self.client.close()

    def back(self, board):
        try:
            while data := board.recv(4096):
                self.client.sendall(data)
        except OSError:
            pass


def test_a_reset_of_the_board_is_reported_once(boards):
    relay = Relay(boards())
    client = meshalloc.Client(relay.endpoint, timeout=0.5)
    client.submit(1, (2, 2))
    assert client.jobs() == {1: 4}
    relay.connect(boards())
    with pytest.raises(meshalloc.ControllerReset) as reset:
        client.submit(2, (2, 2))
    assert not reset.value.keeps_jobs and isinstance(reset.value, meshalloc.LineError)
    client.submit(3, (3, 3))
    assert client.jobs() == {3: 9}
    assert [event.job for event in client.events()][-1] == 3
    client.close()


def test_threads_share_a_client_and_others_go_on(board):
    client = meshalloc.Client(board.endpoint)
    failures = []

    def work(first):
        try:
            for job in range(first, first + 20):
                client.submit(job, (1, 1))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(100 * at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert client.statistics()["running"] == 160
    assert sorted(event.number for event in client.events()) == list(range(1, 161))
    client.close()

    ticks = 0
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = "tcp:127.0.0.1:%d" % silent.getsockname()[1]
        waits = threading.Thread(
            target=lambda: pytest.raises(
                meshalloc.LineError, meshalloc.Client, endpoint, timeout=0.5, tries=1
            )
        )
        waits.start()
        while waits.is_alive():
            time.sleep(0.005)
            ticks += 1
    assert ticks > 10


def test_ctrl_c_ends_a_wait():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        program = f"""
            import signal, meshalloc
            # A background job of a shell ignores it.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            print("begins", flush=True)
            try:
                meshalloc.Client("tcp:127.0.0.1:{silent.getsockname()[1]}", timeout=100)
            except KeyboardInterrupt:
                print("interrupted")
        """
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout.readline() == "begins\n"
        line, _ = silent.accept()
        assert line.recv(1)
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        line.close()
    assert (process.returncode, output) == (0, "interrupted\n")


def test_a_signal_may_call_python_that_uses_the_client(board):
    """A handler in the middle of an exchange gets an exception in place of a wait without end."""
    relay = Relay(board)
    client = meshalloc.Client(relay.endpoint, timeout=0.3, tries=2)
    answers = []

    def handler(*_):
        with pytest.raises(meshalloc.Misuse, match="in use by this thread"):
            client.events()
        answers.append(True)

    silent = socket.socketpair()
    relay.board = silent[0]
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(meshalloc.LineError, match="no reply"):
            client.events()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert answers
