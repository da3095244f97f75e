"""The coordinator of churn events: collects what shadow nodes know, then repairs (Sec. 3.2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from orbweaver.core.bitplanes import bits_of
from orbweaver.core.errors import UsageError
from orbweaver.core.ids import NodeId
from orbweaver.core.messages import Message
from orbweaver.core.overlay import Context
from orbweaver.overlays.omen.churn import ChurnEvent, Shadow, shadow_of
from orbweaver.overlays.omen.components import (
    joined_alike,
    joined_by_hop,
    joined_in_truth,
    joined_inside,
    there_already,
)
from orbweaver.overlays.omen.messages import (
    Enlist,
    Mend,
    ShadowReport,
    ViewAsk,
    ViewTold,
)
from orbweaver.overlays.omen.params import OMenParams
from orbweaver.overlays.omen.repair import Joined, repair_tco_on_churn
from orbweaver.overlays.omen.survey import ShadowSurvey, lost_topics
from orbweaver.overlays.omen.views import LocalView, LocalViews

Given = tuple[NodeId, Message]
"""A node, and what is to be sent to it."""
STEP_MS = 100
"""How often a repair under way is looked at, in milliseconds."""
VIEW_NODES_MAX = 4096
"""How many neighbours or backups another node may name in a local view."""


class Session:
    """One repair at its coordinator."""

    def __init__(self, event: ChurnEvent, number: int, views: Mapping[NodeId, LocalView]) -> None:
        self.event = event
        self.number = number
        self.views = dict(views)
        """Local views by node; those of chained nodes come in on request."""
        self.silent: dict[NodeId, None] = {}
        """Shadow nodes that did not report in time."""
        self.asked: dict[NodeId, None] = {}
        """Dead neighbours of which another node was asked for the local view."""
        self.shadow = Shadow((), 0, {}, {}, ())
        self.enlisted: dict[NodeId, int] = {}
        """The nodes asked to report, and the masks of the topics that they were asked to probe."""
        self.reports: dict[NodeId, ShadowReport] = {}
        self.began = self.changed = 0
        """When the present round began, and when the last news came, in milliseconds."""

    def missing(self) -> list[NodeId]:
        """Return the nodes whose reports are awaited."""
        return [n for n in self.enlisted if n not in self.reports and n not in self.silent]

    def more_may_come(self) -> bool:
        """Return whether a probe is under way, or the local view of a dead node may arrive."""
        return any(self.enlisted.values()) or any(n not in self.views for n in self.asked)


class Coordinator:
    TIMER = "repair"

    def __init__(self, context: Context, params: OMenParams, views: LocalViews) -> None:
        if params.components == "oracle" and context.directory is None:
            raise UsageError(
                "components 'oracle' asks what is connected, which only a simulation knows; "
                "set components=probe"
            )
        self._context = context
        self._params = params
        self._views = views
        self.incarnation = 0
        """When this node started, in milliseconds. It tells the lives of the node apart."""
        self._number = 0
        self._sessions: dict[int, Session] = {}
        self._finished: list[ChurnEvent] = []

    def start(self, now: int) -> None:
        self.incarnation = self._number = now

    def next_number(self) -> int:
        """Return a number that tells a probe apart from all others that begin at this node."""
        self._number += 1
        return self._number

    def begin(
        self, event: ChurnEvent, views: Mapping[NodeId, LocalView], gone: Collection[NodeId]
    ) -> None:
        """Begin to repair what a node held together that has left."""
        self._survey(self._new(event, views), gone)

    def begin_join(self, event: ChurnEvent, topics: int, gone: Collection[NodeId]) -> None:
        """Begin to link up a node that has joined: S = B(v') + v'."""
        session = self._new(event, {})
        view = self._views.of.get(event.node)
        if view is None:
            return
        live = {n: mask for n, mask in view.backups.items() if n not in gone and mask & topics}
        if live:  # with backups for other topics only, there is nothing to link up
            session.shadow = Shadow((), topics, {event.node: view.topics}, live, ())

    def step(self, gone: Collection[NodeId]) -> list[Given]:
        """Go on with all repairs. Return what is to be sent."""
        now = self._context.outbox.now()
        given: list[Given] = []
        for number, session in list(self._sessions.items()):
            given += self._enlist(session)
            waiting = session.missing()
            # Only probes and views of dead nodes bring more news once all have reported.
            quiet = now - session.changed >= self._params.quiet_ms or not session.more_may_come()
            if (waiting or not quiet) and now - session.began < self._params.repair_ms:
                continue
            session.silent.update(dict.fromkeys(waiting))
            asks = self._ask_about_dead(session, gone)
            if asks or self._survey(session, gone):
                given += asks + self._enlist(session)
                session.began = session.changed = now
                continue
            if more := self._to_ask_next(session, gone):
                given += self._ask(session, more)
                session.began = session.changed = now
                continue
            del self._sessions[number]
            self._finished.append(session.event)
            given += self._mend(session, gone)
        if self._sessions:
            self._context.outbox.set_timer(self.TIMER, STEP_MS)
        return given

    def finished(self) -> list[ChurnEvent]:
        """Return the events whose repair is done since this was last called."""
        done, self._finished = self._finished, []
        return done

    def on_report(self, sender: NodeId, message: ShadowReport) -> None:
        session = self._sessions.get(message.number)
        if session is not None and sender in session.enlisted:
            session.reports[sender] = message
            session.changed = self._context.outbox.now()

    def on_view_told(self, message: ViewTold, gone: Collection[NodeId]) -> None:
        """Chain a node that has left together with the one that is repaired."""
        for session in self._sessions.values():
            if message.node not in session.asked or message.node in session.views:
                continue
            view = session.views[message.node] = LocalView(1)
            view.topics = message.topics.mask
            told = message.neighbors[:VIEW_NODES_MAX], message.backups[:VIEW_NODES_MAX]
            view.neighbors = {about.node: about.interest.mask for about in told[0]}
            view.backups = {about.node: about.interest.mask for about in told[1]}
            self._survey(session, gone)

    # -- inside

    def _new(self, event: ChurnEvent, views: Mapping[NodeId, LocalView]) -> Session:
        number = self.next_number()
        session = self._sessions[number] = Session(event, number, views)
        session.began = session.changed = self._context.outbox.now()
        return session

    def _survey(self, session: Session, gone: Collection[NodeId]) -> bool:
        """Put the shadow set together anew. Return whether anybody is to be enlisted for it."""
        if session.event.kind == "join":
            return False
        dead = {*gone, *session.silent}
        session.shadow = shadow_of(session.event.node, session.views, dead)
        return bool(self._to_enlist(session))

    def _to_enlist(self, session: Session) -> dict[NodeId, int]:
        """Return the nodes to enlist first: all of the shadow set, or what a survey begins with."""
        shadow = session.shadow
        if self._probes(session):
            lost = lost_topics(shadow)
            first = [node for node, mask in shadow.neighbors.items() if mask & lost]
        else:
            first = [*shadow.interests()]
        return dict.fromkeys((node for node in first if node not in session.enlisted), 0)

    def _to_ask_next(self, session: Session, gone: Collection[NodeId]) -> dict[NodeId, int]:
        """Return the nodes to ask now that the last round is over, each with the mask of the topics
        to start a probe in: those whose probes are needed, and then the backups for what is cut."""
        if not self._probes(session):
            return {}
        found = self._look(session, gone)
        if starts := found.starts(session.enlisted):
            return starts
        cut, backups = found.cut(), session.shadow.backups
        fresh = [node for node, mask in backups.items() if mask & cut]
        return dict.fromkeys((node for node in fresh if node not in session.enlisted), 0)

    def _look(self, session: Session, gone: Collection[NodeId]) -> ShadowSurvey:
        dead = {*gone, *session.silent}
        return ShadowSurvey(session.shadow, session.reports, dead, self._context.topics)

    def _probes(self, session: Session) -> bool:
        return session.event.kind == "leave" and self._params.components == "probe"

    def _enlist(self, session: Session) -> list[Given]:
        return self._ask(session, self._to_enlist(session))

    def _ask(self, session: Session, asked: Mapping[NodeId, int]) -> list[Given]:
        """Ask nodes for reports, and to start probes in topics, given as masks."""
        topics = self._context.topics
        ties = session.event.kind == "join" or self._params.components != "oracle"
        # News can have passed through a chain for longer than through its first node.
        alone = self._probes(session) and session.shadow.dead == (session.event.node,)
        left = session.event.node if alone else None
        given: list[Given] = []
        for node, starts in asked.items():
            session.enlisted[node] = session.enlisted.get(node, 0) | starts
            session.reports.pop(node, None)  # a new one is on its way
            given.append((node, Enlist(session.number, ties, topics.of_mask(starts), left)))
        return given

    def _ask_about_dead(self, session: Session, gone: Collection[NodeId]) -> list[Given]:
        """Ask for the local views of dead neighbours, which their successors hold."""
        if session.event.kind == "join":
            return []
        dead = {*gone, *session.silent}
        given: list[Given] = []
        for node in shadow_of(session.event.node, session.views, dead).unknown:
            if node in session.asked or node in session.views:
                continue
            session.asked[node] = None
            if node in self._views.of:
                session.views[node] = self._views.of[node]
                continue
            contacts = [v.contacts[node] for v in session.views.values() if node in v.contacts]
            given += [(peer, ViewAsk(node)) for peer in dict.fromkeys(sum(contacts, ()))]
        return [(peer, ask) for peer, ask in given if peer not in dead]

    def _mend(self, session: Session, gone: Collection[NodeId]) -> list[Given]:
        """Choose the new edges and return a MEND for each end."""
        reports = session.reports
        topics = session.shadow.topics
        if self._probes(session):
            found = self._look(session, gone)
            interests, topics, joined = found.usable(), found.cut(), found.joined
        else:
            there = session.shadow.interests()
            interests = {node: mask for node, mask in there.items() if node in reports}
            if session.event.kind == "join":
                interests = there_already(reports, interests, session.event.node)
            joined = self._components(session, interests, gone)
        degrees = {node: report.degree for node, report in reports.items()}
        edges = repair_tco_on_churn(interests, topics, joined, degrees, self._params.rho)
        ends: dict[NodeId, list[NodeId]] = {}
        for a, b in edges:
            ends.setdefault(a, []).append(b)
            ends.setdefault(b, []).append(a)
        return [(node, Mend(tuple(peers))) for node, peers in ends.items()]

    def _components(
        self, session: Session, interests: Mapping[NodeId, int], gone: Collection[NodeId]
    ) -> list[Joined]:
        """Return which of the shadow nodes that are there now are connected."""
        how = self._params.components
        directory = self._context.directory
        if session.event.kind == "join":  # what was there before is connected
            node = session.event.node
            topics = session.shadow.topics
            before = {n: mask & topics for n, mask in interests.items() if n != node}
            return joined_alike((1 << t, n, 0) for n, mask in before.items() for t in bits_of(mask))
        if how == "oracle" and directory is not None:
            return joined_in_truth(interests, session.shadow.topics, directory)
        # A node that has reported and left since connects nothing.
        reports = [(node, session.reports[node]) for node in interests]
        if how == "hop":
            dead = {*gone, *session.silent, *session.shadow.dead}
            return joined_by_hop(reports, interests, dead)
        return joined_inside(reports, interests)
