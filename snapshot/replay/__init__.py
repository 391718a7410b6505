"""What a recorded run would have cost: the requests that it was, played again under a policy of compaction.

`replay` plays one run under one policy, with the provider's prompt cache and prices. It is pure: no network,
no clock; the same run gives the same figures.
"""

from snapshot.replay.recording import Recording
from snapshot.replay.replay import POLICIES, Replay, Request, replay

__all__ = ["POLICIES", "Recording", "Replay", "Request", "replay"]
