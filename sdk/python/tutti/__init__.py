"""GPU leases and jobs of the Tutti scheduler.

Example::

    import tutti

    @tutti.gpu()                       # measured once, then shared by what was measured
    def train(lr):
        ...

    with tutti.lease(mem="10G"):       # a GPU for a block
        ...

    job = tutti.submit("python train.py", gpus=1, time="2h")
    print(job.wait())

    print(tutti.map(train, [0.1, 0.01], gpus=1))

    for i in tutti.shard(1000):        # in a job of many workers: the items of this one
        ...
"""

from ._block import AsyncLeaseBlock, LeaseBlock, lease, lease_async
from ._decorator import gpu
from ._errors import Error, JobFailed, NotFound, Refused, Timeout, TuttiWarning, Unavailable
from ._job import Job, job, jobs, submit, submit_async
from ._lease import Gpu, Lease
from ._machine import gpus, profiles
from ._map import map, map_async
from ._rank import rank, shard, world_size

__version__ = "0.1.0"

__all__ = [
    "AsyncLeaseBlock", "Error", "Gpu", "Job", "JobFailed", "Lease", "LeaseBlock", "NotFound",
    "Refused", "Timeout", "TuttiWarning", "Unavailable", "gpu", "gpus", "job", "jobs", "lease",
    "lease_async", "map", "map_async", "profiles", "rank", "shard", "submit", "submit_async",
    "world_size",
]
