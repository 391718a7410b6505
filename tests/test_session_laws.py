"""Whatever is done to a session, in whatever order, it is what a simple model of it is."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from snapshot.compaction.boundaries import repair
from snapshot.errors import SessionError, StaleCompaction
from snapshot.messages import Message, Text
from snapshot.requests import APIS, request
from snapshot.requests.check import check
from snapshot.session import Checkpoint, History, Plan, Store
from tests.conftest import examples
from tests.session_model import Model, Thing, answer, calling, result, turn, user

WORDS = st.sampled_from(["tidy", "sort", "rename", "look again"])
NAMES = st.sampled_from(["main", "one", "two"])


class Sessions(RuleBasedStateMachine):
    """A history and its model, side by side."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store(Path(self.folder.name) / "s.sqlite", create=True)
        self.store.database.run("PRAGMA synchronous = OFF")  # nothing is killed here
        self.history: History = self.store.create("talk", model="claude-opus-4-8")
        self.model = Model()
        self.plans: list[tuple[Plan, str]] = []
        self.calls = 0

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert [found for _, found in self.store.check()] == [[]] * (1 + len(self.store.conversations()))
            self.store.close()
            self.folder.cleanup()

    # --- what is done

    @property
    def leaf(self) -> str:
        return self.model.leaves[self.model.current]

    def add(self, messages: list[Message], parent: str) -> str:
        """Note in the model what the history has added behind `parent`."""
        known = set(self.model.things)
        new = [node for node in self.history.rows.nodes() if node.id not in known]
        assert [node.kind for node in new] == ["message"] * len(messages)
        for node, message in zip(new, messages, strict=True):
            self.model.things[node.id] = Thing(parent, "message", message)
            parent = node.id
        return parent

    def refused(self, do, *arguments, **named) -> None:
        before = self.history.branches(), len(list(self.history.rows.nodes()))
        with pytest.raises(SessionError):
            do(*arguments, **named)
        assert (self.history.branches(), len(list(self.history.rows.nodes()))) == before

    @rule(words=WORDS, calls=st.integers(0, 3), whole=st.booleans())
    def append(self, words, calls, whole):
        messages = turn(words, calls)
        if not whole:
            messages = messages[:2]  # with calls: they stay open
        if self.model.open(self.leaf):
            self.refused(self.history.append, messages)
            return
        self.history.append(messages)
        self.model.move(self.model.current, self.add(messages, self.leaf))

    @precondition(lambda self: self.model.things)
    @rule(words=WORDS, data=st.data())
    def append_behind(self, words, data):
        """Where others have added since, what is added is their sibling."""
        at = data.draw(st.sampled_from(["", *self.model.things]))
        messages = turn(words, 1)
        path = self.model.path(self.leaf)
        since = path[path.index(at) + 1 :] if at in path else path if not at else [""]
        heard = any(not node or self.model.things[node].message is not None for node in since)
        follows = at if heard else self.leaf
        if self.model.open(follows):
            self.refused(self.history.append, messages, after=at)
            return
        branch = self.history.append(messages, after=at)
        assert (branch.name == self.model.current) != heard
        self.model.move(branch.name, self.add(messages, follows))

    @precondition(lambda self: self.model.open(self.leaf))
    @rule(data=st.data())
    def answer_calls(self, data):
        waiting = self.model.open(self.leaf)
        some = data.draw(st.permutations(waiting))[: data.draw(st.integers(1, len(waiting)))]
        self.refused(self.history.append, [result(*some, "never_called")])
        messages = [result(*some)]
        self.history.append(messages, after=self.leaf)
        self.model.move(self.model.current, self.add(messages, self.leaf))

    @rule()
    def append_nonsense(self):
        self.refused(self.history.append, [user(), result("never_called")])
        self.refused(self.history.append, [Message("narrator", (Text("Meanwhile"),))])  # type: ignore[arg-type]
        self.refused(self.history.append, [user(), calling("a"), user()])
        self.refused(self.history.append, [answer()], after="somewhere else")

    @rule(name=NAMES)
    def switch(self, name):
        if name not in self.model.leaves:
            self.refused(self.history.switch, name)
            return
        self.history.switch(name)
        self.model.current = name

    @precondition(lambda self: self.model.things)
    @rule(name=NAMES, data=st.data())
    def point(self, name, data):
        at = data.draw(st.sampled_from(list(self.model.things)))
        if self.model.open(at):
            self.refused(self.history.set_branch, name, at=at)
            return
        self.history.set_branch(name, at=at)
        self.model.move(name, at)

    @precondition(lambda self: self.model.things)
    @rule(data=st.data())
    def retry(self, data):
        at = data.draw(st.sampled_from(["", *self.model.things]))
        path = self.model.path(self.leaf)
        upto = path[: path.index(at) + 1] if at in path else path if not at else []
        users = [one for one in upto if self.is_users(one)]
        if not users:
            self.refused(self.history.retry, at)
            return
        self.history.retry(at)
        self.model.move(self.model.current, users[-1])

    def is_users(self, node: str) -> bool:
        thing = self.model.things[node]
        return thing.kind == "message" and thing.message is not None and thing.message.role == "user"

    @precondition(lambda self: self.model.things)
    @rule(words=WORDS, data=st.data())
    def edit(self, words, data):
        at = data.draw(st.sampled_from(list(self.model.things)))
        if not self.is_users(at) or at not in self.model.path(self.leaf):
            self.refused(self.history.edit, at, words)
            return
        self.history.edit(at, words)
        self.model.move(self.model.current, self.add([user(words)], self.model.things[at].parent))

    @precondition(lambda self: self.model.things)
    @rule(name=NAMES, data=st.data())
    def fork(self, name, data):
        at = data.draw(st.sampled_from(list(self.model.things)))
        said = self.model.things[at].message
        finished = said is not None and said.role == "assistant" and not self.model.open(at)
        if not finished or name in self.model.leaves:
            self.refused(self.history.fork, at, name)
            return
        self.history.fork(at, name)
        self.model.move(name, at)
        self.model.current = name

    @precondition(lambda self: self.model.things)
    @rule(name=WORDS.map(lambda words: words.replace(" ", "-")), data=st.data())
    def label(self, name, data):
        at = data.draw(st.sampled_from(list(self.model.things)))
        self.history.label(name, at=at)
        self.model.labels[name] = at

    @precondition(lambda self: self.model.labels)
    @rule(data=st.data(), found=st.sampled_from(["", "The cache is stale."]))
    def rewind(self, data, found):
        name = data.draw(st.sampled_from(sorted(self.model.labels)))
        target = self.model.labels[name]
        if target not in self.model.path(self.leaf):
            self.refused(self.history.rewind, name, found)
            return
        branch = self.history.rewind(name, found)
        while self.model.open(target):
            target = self.model.things[target].parent
        if found:
            said = user(f"[found on a way that was left]\n{found}")
            self.model.things[branch.leaf] = Thing(target, "synthesis", said)
            target = branch.leaf
        self.model.move(self.model.current, target)

    @rule(model=st.sampled_from(["claude-opus-4-8", "gpt-5.5"]))
    def set_model(self, model):
        before = self.history.branch()
        after = self.history.set_model(model)
        if before.model == model:
            assert after == before
            return
        if self.leaf:
            self.model.things[after.leaf] = Thing(self.leaf, "event")
        self.model.move(self.model.current, after.leaf)

    # --- compaction

    @rule()
    def plan(self):
        if self.model.open(self.leaf):
            self.refused(self.history.plan)
        else:
            self.plans.append((self.history.plan(), self.model.current))

    @precondition(lambda self: self.plans)
    @rule(data=st.data())
    def commit(self, data):
        plan, branch = data.draw(st.sampled_from(self.plans))
        self.commit_one(plan, branch, data)

    @precondition(lambda self: self.leaf and not self.model.open(self.leaf))
    @rule(data=st.data())
    def compact(self, data):
        self.commit_one(self.history.plan(), self.model.current, data)

    def commit_one(self, plan: Plan, branch: str, data: st.DataObject) -> None:
        leaf = self.model.leaves[branch]
        path = self.model.path(leaf)
        kept = data.draw(st.sampled_from(["", *path]))
        checkpoint = Checkpoint("summary", kept, (user("Sum of it all."),), "claude-opus-4-8")
        fresh = (plan.branch.leaf, plan.branch.revision) == (leaf, self.model.revisions[branch]) and leaf
        cuttable = not kept or not self.model.open(self.model.things[kept].parent)
        forward = bool(leaf) and (path.index(kept) if kept else len(path)) >= self.model.boundary(leaf)
        if not (fresh and cuttable and forward):
            before = self.history.branch(branch)
            with pytest.raises(StaleCompaction) as caught:
                self.history.commit(plan, checkpoint)
            assert (caught.value.leaf, caught.value.revision) == (before.leaf, before.revision)
            assert self.history.branch(branch) == before
            return
        newest = self.model.checkpoint(leaf)
        since = path[path.index(newest) + 1 :] if newest else path
        if newest and self.model.things[newest].first_kept == kept and not self.model.messages_of(since):
            assert self.history.commit(plan, checkpoint) == self.history.branch(branch)
            return  # one checkpoint for one boundary
        leaf = self.history.commit(plan, checkpoint).leaf
        self.model.things[leaf] = Thing(self.model.leaves[branch], "checkpoint", None, kept, checkpoint.lead)
        self.model.move(branch, leaf)

    # --- what must hold

    @rule()
    def reopen(self):
        self.store.close()
        self.store = Store(Path(self.folder.name) / "s.sqlite")
        self.history = self.store.history("talk")

    @rule()
    def duplicate(self):
        name = f"copy-{len(self.store.conversations())}"
        copy = self.store.duplicate(self.history, name)
        assert copy.project().transcript == self.history.project().transcript
        assert not {node.id for node in copy.rows.nodes()} & set(self.model.things)
        on_path = {name for name, at in self.model.labels.items() if at in self.model.path(self.leaf)}
        assert {label.name for label in copy.labels()} == on_path
        if not self.model.open(self.leaf):
            copy.append(turn("only in the copy"))

    @invariant()
    def the_same(self):
        assert self.history.current == self.model.current
        found = {branch.name: (branch.leaf, branch.revision) for branch in self.history.branches()}
        assert found == {name: (leaf, self.model.revisions[name]) for name, leaf in self.model.leaves.items()}
        assert {label.name: label.node for label in self.history.labels()} == self.model.labels
        for branch, leaf in self.model.leaves.items():
            path = self.history.path(branch)
            assert [node for node, _ in path] == self.model.said(leaf)
            assert [message for _, message in path] == self.model.messages(leaf)
        assert not self.history.damage

    @invariant()
    def projected_and_sendable(self):
        for branch, leaf in self.model.leaves.items():
            kept, messages = self.model.projection(leaf)
            projection = self.history.project(branch)
            assert list(projection.ids) == kept
            assert projection.checkpoint == self.model.checkpoint(leaf)
            assert projection.transcript.messages == repair(messages)[0]
            for api in APIS:
                assert check(request(projection.transcript, api), api) == []


TestSessions = Sessions.TestCase
TestSessions.settings = settings(max_examples=examples(40), stateful_step_count=35)
