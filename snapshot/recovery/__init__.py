"""What to do when a provider rejects a request: its error is classified, and the conversation made to fit.

`recover` does both. `classify_error` alone says what an error means; nothing is sent from here.
"""

from snapshot.recovery.asynchronous import arecover
from snapshot.recovery.classify import ErrorClass, classify_error
from snapshot.recovery.recover import recover

__all__ = ["ErrorClass", "arecover", "classify_error", "recover"]
