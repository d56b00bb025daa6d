# The machine of spalloc_server in `cargo xtask serve-rate`, in the words of
# `spalloc_server.configuration`.
import signal

# Switching a board takes spalloc_server at least 5 s, one board after the other. Until then the
# board of a released job is not free, so there is a board for each job of a run.
SIDE = 80
boards = [(x, y, z) for x in range(SIDE) for y in range(SIDE) for z in range(3)]
configuration = Configuration(
    ip="127.0.0.1",
    machines=[
        Machine(
            "boards",
            board_locations={board: (0, 0, number) for number, board in enumerate(boards)},
            bmp_ips={(0, 0): "127.0.0.1"},
            spinnaker_ips={board: f"board-{number}" for number, board in enumerate(boards)},
        )
    ],
)
# Ctrl-C ends the server at once; it would wait for all of its boards.
signal.signal(signal.SIGINT, signal.SIG_DFL)
