"""Processor allocation in mesh- and torus-connected multicomputers.

`Allocator` gives processors away and takes them back, `Controller` has a queue and a scheduler as
well, and `Scenario` simulates jobs on them, with policies of ours or your own. `Client` talks to a
controller on a board.
"""

from collections.abc import Sequence

from ._core import (
    Allocation,
    Allocator,
    Client,
    Controller,
    Event,
    Queue,
    Request,
    Waiting,
    __version__,
    schedulers,
    settings,
    strategies,
)
from .errors import (
    ControllerReset,
    Error,
    IllegalProposal,
    LineError,
    Misuse,
    Refused,
    ScenarioError,
)
from .scenario import Block, Propose, Results, Scenario, Scheduler, Strategy

Sequence.register(Queue)

__all__ = [
    "Allocation",
    "Allocator",
    "Block",
    "Client",
    "Controller",
    "ControllerReset",
    "Error",
    "Event",
    "IllegalProposal",
    "LineError",
    "Misuse",
    "Propose",
    "Queue",
    "Refused",
    "Request",
    "Results",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "Strategy",
    "Waiting",
    "__version__",
    "schedulers",
    "settings",
    "strategies",
]
