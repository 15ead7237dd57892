"""A lock that is given out in the order in which it was asked for."""

import threading
from collections import deque


class FairLock:
    """Let one thread in at a time, first come, first served; a thread that is in may come in again.

    Python's own lock goes to whoever is awake when it is let go: a thread that applies record after record would
    take it again and again, and those that rank would wait for the end of the group.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._held = False
        self._owner = 0
        self._depth = 0

    def __enter__(self) -> None:
        thread = threading.get_ident()
        if self._owner == thread:  # nobody else can set it to this thread
            self._depth += 1
            return
        with self._mutex:
            if not self._held:
                self._held = True
                self._owner = thread
                return
            gate = threading.Lock()
            gate.acquire()
            self._waiting.append(gate)
        try:
            gate.acquire()
        except BaseException:  # interrupted while it waited: whoever is next must not wait for us
            with self._mutex:
                if gate in self._waiting:
                    self._waiting.remove(gate)
                    raise
            self.__exit__()
            raise
        self._owner = thread

    def __exit__(self, *_: object) -> None:
        if self._depth:
            self._depth -= 1
            return
        with self._mutex:
            self._owner = 0
            if self._waiting:
                self._waiting.popleft().release()  # it stays held, by the next one
            else:
                self._held = False
