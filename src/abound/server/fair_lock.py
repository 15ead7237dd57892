"""A lock that threads get in the order in which they requested it."""

import threading
from collections import deque


class FairLock:
    """A reentrant lock that serves threads first come, first served.

    Python's own lock goes to any thread that is awake when it is released. A thread that applies record after record
    would get it again and again, and the threads that rank would wait for the end of the group.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._held = False
        self._owner = 0
        self._depth = 0

    def __enter__(self) -> None:
        thread = threading.get_ident()
        if self._owner == thread:  # only this thread can have set it
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
        except BaseException:  # interrupted while it waited: the next thread must not wait for this one
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
                self._waiting.popleft().release()  # the lock stays held, by the next thread
            else:
                self._held = False
