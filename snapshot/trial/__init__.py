"""A paid trial of a model as a reader of pages: what it copies, what it gets wrong without a word, what it
costs.

`plan` lays it out and `run` carries it out, call by call, through a sender: any function from a `Prompt` to a
`Reply`. Nothing here touches a network but the senders of `snapshot.trial.senders`, which want the extra
`trial`. What was asked and answered stands in one append-only file, so a trial goes on where it was stopped.
"""
