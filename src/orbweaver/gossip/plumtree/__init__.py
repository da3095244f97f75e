"""Plumtree (Leitao, Pereira, Rodrigues; SRDS 2007): epidemic broadcast trees, one for each topic.

Among the links whose two ends share a topic, each end has eager and lazy ones. An event is pushed
at once over eager links, and only announced (IHAVE) over the lazy ones. A node that gets a copy of
what it has asks for no more of them (PRUNE), and the other end makes its link lazy; an announced
event that does not come is pulled, which makes the announcer's link eager again (GRAFT). What
remains eager is a spanning tree of the topic's subscribers, found by the first events and mended
when links go.

Where this differs from the paper:

* PRUNE and GRAFT are each for one direction of a link, and a node remembers the neighbour that
  feeds it. `tree` says why.
* Events of one (publisher, epoch, topic) are numbered, so any later sign of a stream shows what is
  missing of it. An IHAVE names the newest event of a stream rather than each event.
* An announced event is waited for as long as a neighbour pushes earlier ones of its stream, so that
  long queues do not make nodes ask for what is on its way. `awaited` says why.
* After a burst the newest numbers are announced once more over all links, so that the last event
  is not lost in silence; and to a new neighbour, so that what was published before the overlay
  formed is not lost either.
* No clocks are compared: an event carries its age, and a node is given nothing that is older than
  its own subscription.

Events are signed where it matters, but what is said about them is not. So an IHAVE makes a node
ask and settles nothing, and what is remembered of what peers say is bounded.
"""

from orbweaver.gossip.plumtree.plumtree import Plumtree

__all__ = ["Plumtree"]
