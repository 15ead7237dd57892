"""The thread that follows the journal in a worker continues after any error."""

import time

from abound.server import Follower, Home, Writer
from abound.server.http.worker import FollowerThread
from tests.server.streams import base, lesson


class Unlucky(Follower):
    """A follower that meets a failure of the system first."""

    failures = 0

    def catch_up(self, upto=None):
        self.failures += 1
        if self.failures == 1:
            raise OSError("too many open files")
        return super().catch_up(upto)


def test_a_failure_of_the_system_does_not_end_it(tmp_path):
    home = Home.create(tmp_path / "home", base())
    with Writer(home, snapshot_every=None) as writer:
        following = FollowerThread(Unlucky(home))
        for number in (1, 2):
            following.catch_up(writer.submit(lesson(number)).result(30).sequence)
            time.sleep(0.1)
        assert following.replica.wait_for(2, 30)
        following.close()
