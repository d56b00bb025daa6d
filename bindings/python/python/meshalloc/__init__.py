"""Processor allocation in mesh- and torus-connected multicomputers.

`Allocator` gives processors away and takes them back, `Controller` has a queue and a scheduler as
well, and `Scenario` simulates jobs on them, with policies of ours or your own.
"""

from ._core import (
    Allocation,
    Allocator,
    Controller,
    Event,
    Queue,
    Request,
    Waiting,
    schedulers,
    settings,
    strategies,
)
from .errors import Error, IllegalProposal, Misuse, Refused, ScenarioError
from .scenario import Block, Propose, Results, Scenario, Scheduler, Strategy

__all__ = [
    "Allocation",
    "Allocator",
    "Block",
    "Controller",
    "Error",
    "Event",
    "IllegalProposal",
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
    "schedulers",
    "settings",
    "strategies",
]
