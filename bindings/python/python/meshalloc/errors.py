"""The exceptions of the package.

    Error
    +-- Refused          a request was refused
    +-- IllegalProposal  a strategy of your own proposed what cannot be granted
    +-- Misuse           a value, a handle or the name of a job is wrong; a ValueError
    +-- ScenarioError    the settings of a scenario cannot be used; a ValueError
    +-- LineError        a board does not answer as it should
        +-- ControllerReset  it was reset in the meantime
"""


class Error(Exception):
    """What all exceptions of the package are."""

    def __str__(self) -> str:
        # The message. Other arguments are attributes; all are kept for pickles.
        return str(self.args[0]) if self.args else ""


class Refused(Error):
    """A request was refused.

    >>> import meshalloc
    >>> try:
    ...     meshalloc.Allocator("mesh 8x8", "first-fit").allocate((9, 9))
    ... except meshalloc.Refused as refused:
    ...     print(refused.reason, refused.is_temporary)
    never-fits False
    """

    def __init__(self, message: str, reason: str, is_temporary: bool) -> None:
        super().__init__(message, reason, is_temporary)
        #: The name of the reason, such as "fragmented".
        self.reason = reason
        #: Whether the same request could be granted later.
        self.is_temporary = is_temporary


class IllegalProposal(Error):
    """A strategy of your own proposed what cannot be granted."""


class Misuse(Error, ValueError):
    """A value, a handle or the name of a job is wrong."""


class ScenarioError(Error, ValueError):
    """The settings of a scenario cannot be used."""


class LineError(Error):
    """A board does not answer, or not as it should.

    It is then unknown whether it has carried a change out.
    """


class ControllerReset(LineError):
    """A board was reset since its last reply.

    This is raised once for each reset; the next call goes on with the board as it is.
    """

    def __init__(self, message: str, keeps_jobs: bool) -> None:
        super().__init__(message, keeps_jobs)
        #: Whether its jobs are those of before: it has read its journal.
        self.keeps_jobs = keeps_jobs
