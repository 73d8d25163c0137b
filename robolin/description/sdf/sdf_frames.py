"""The pose graph of SDF models: every link, joint, frame and model is a frame with a name.

A pose is given relative to another frame, by default relative to the model.  Names are those of the
same model, `model::name` for a nested model, or `__model__` for the frame of the model itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from robolin.core.arm import HERE, Pose
from robolin.core.arm_parts import compose, inverse_rotation
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean, quote_value
from robolin.description.model import MOST_OF_A_KIND
from robolin.description.sdf.sdf_fields import FileNotes, check_attributes, element_text, pose_value
from robolin.description.sdf.sdf_files import Model, World, not_needed
from robolin.description.xml_tree import Element

MODEL_FRAME, WORLD = "__model__", "world"
# longest path between two frames that is composed directly, without an inverse
_SHORT_PATH = 8
# names that are compared with an unknown one
_MOST_COMPARED = 2000


@dataclass(eq=False)
class FrameNode:
    """A frame: its pose relative to a base, and the frame that it is attached to."""

    kind: str
    name: str
    element: Element
    notes: FileNotes
    base: FrameNode | None = None
    offset: Pose = HERE
    attached: FrameNode | None = None
    scope: Scope | None = None
    # name with those of the models around it
    path: str = ""
    # pose in the world, after `pose_in_world`
    pose: Pose | None = None

    @property
    def label(self) -> str:
        return f"{self.kind} {quote_value(self.name)}"


@dataclass(eq=False)
class Scope:
    """The names in a model; a model merged into another shares the names of that model."""

    model: FrameNode
    content: Model
    prefix: str
    names: dict[str, FrameNode]
    around: Scope | None = None
    links: list[FrameNode] = field(default_factory=list)
    joints: list[FrameNode] = field(default_factory=list)
    nested: list[Scope] = field(default_factory=list)

    def all_scopes(self) -> Iterator[Scope]:
        yield self
        for scope in self.nested:
            yield from scope.all_scopes()

    @property
    def ground(self) -> FrameNode:
        """The frame of the world."""
        return self.model if self.around is None else self.around.ground

    def find(self, name: str) -> FrameNode | None:
        """The frame of a name, which may be in a nested model."""
        if name == MODEL_FRAME:
            return self.model
        if name in self.names:
            return self.names[name]
        head, _, tail = name.partition("::")
        inner = self.names.get(head)
        return inner.scope.find(tail) if tail and inner is not None and inner.scope else None

    def frame(self, name: str, user: FrameNode, element: Element) -> FrameNode | None:
        """The frame that an element names; None after an error."""
        frame = self.find(name)
        if frame is None:
            message = f"{user.label}: <{element.tag}> names an unknown frame {quote_value(name)}"
            user.notes.error("sdf-frame", element, message, self.closest(name, user.notes))
        return frame

    def closest(self, name: str, notes: FileNotes) -> str:
        """A hint with the closest name, unless the file has too many names or errors."""
        if len(self.names) > _MOST_COMPARED or len(notes.findings) > MOST_OF_A_KIND:
            return "check the spelling"
        return did_you_mean(name, self.names)


def scope_of_robot(world: World, robot: Model) -> Scope:
    """The frames of a model of the world, with all poses resolved as far as they are valid."""
    ground = FrameNode("world", WORLD, world.element, world.notes, path=WORLD, pose=HERE)
    outside = Scope(ground, robot, "", {WORLD: ground})
    findings = world.notes.findings
    for model in world.models:
        before = len(findings)
        outside.nested.append(_scope(model, outside))
        if model is not robot:
            not_needed(world.notes, slice(before, None))
    _add_named(world.inside, outside, world.notes)
    _connect(outside, world.inside)
    for scope in outside.nested:
        before = len(findings)
        every = list(scope.all_scopes())
        for inner in every:
            _connect(inner, inner.content.inside)
        # a placement frame may be in a nested model
        for inner in reversed(every):
            _place(inner)
        if scope.content is not robot:
            not_needed(world.notes, slice(before, None))
    return outside.nested[world.models.index(robot)]


def _add_named(inside: list[Model | Element], scope: Scope, notes: FileNotes) -> None:
    """Add the links, joints and frames of a model or a world."""
    for part in inside:
        if isinstance(part, Element) and part.tag in ("link", "joint", "frame"):
            name = part.attributes.get("name", "")
            entry = FrameNode(part.tag, name, part, notes, path=f"{scope.prefix}{name}")
            _add(scope, entry)
            if part.tag == "link":
                scope.links.append(entry)
            elif part.tag == "joint":
                scope.joints.append(entry)


def _scope(model: Model, around: Scope) -> Scope:
    """The names in a model and in the models inside it; their poses are not yet connected."""
    node = FrameNode("model", model.name, model.element, model.notes)
    merged = model.merged and around.around is not None
    names = around.names if merged else {}
    outermost = around.around is None
    prefix = around.prefix if merged or outermost else f"{around.prefix}{model.name}::"
    scope = Scope(node, model, prefix, names, around)
    if merged:
        node.name = f"_merged__{model.name}__model__"
    _add(around, node)
    node.scope = scope
    for part in model.inside:
        if isinstance(part, Model):
            scope.nested.append(_scope(part, scope))
    _add_named(model.inside, scope, model.notes)
    return scope


def _add(scope: Scope, node: FrameNode) -> None:
    """Add a name; before version 1.7 a joint may have the name of a link."""
    other = scope.names.setdefault(node.name, node)
    if other is node or not node.name or node.notes.version < (1, 7) or other.kind == node.kind:
        if other is not node and other.kind == "joint" and node.kind == "link":
            scope.names[node.name] = node
        return
    message = f"{node.label} has the same name as a {other.kind}, on line {other.element.line}"
    node.notes.error("sdf-frame", node.element, message, "rename one of the two elements")


def _connect(scope: Scope, inside: list[Model | Element]) -> None:
    """Connect the frames of a model to the frames that they are relative or attached to."""
    own = {id(part) for part in inside}
    # a link and a joint of the same name are both in these lists
    nodes = [*scope.links, *scope.joints, *scope.names.values()]
    for node in dict.fromkeys(nodes):
        if id(node.element) not in own:
            continue
        if node.kind == "frame":
            to = node.element.attributes.get("attached_to", "")
            node.attached = scope.frame(to, node, node.element) if to else scope.model
            check_attributes(node.element, node.label, ("name", "attached_to"), node.notes)
            _relate(scope, node, node.attached or scope.model)
        elif node.kind == "joint":
            child = next((part for part in node.element.children if part.tag == "child"), None)
            name = element_text(child)
            node.attached = scope.find(name) if name else None
            _relate(scope, node, node.attached or scope.model)
        elif node.kind == "link":
            _relate(scope, node, scope.model)


def _relate(scope: Scope, node: FrameNode, default: FrameNode) -> None:
    """Read the pose of a frame, and the frame it is relative to."""
    pose = next((part for part in node.element.children if part.tag == "pose"), None)
    node.base, node.offset = default, pose_value(pose, node.label, node.notes)
    if pose is not None and (name := relative_to(pose, node.label, node.notes)):
        node.base = scope.frame(name, node, pose) or default


def relative_to(pose: Element, owner: str, notes: FileNotes) -> str:
    """The name of the frame that a pose is relative to; '' for the default."""
    key = "relative_to" if notes.version >= (1, 7) else "frame"
    known = ("relative_to", key, "rotation_format", "degrees")
    check_attributes(pose, owner, known, notes)
    return pose.attributes.get("relative_to") or pose.attributes.get(key, "")


def _place(scope: Scope) -> None:
    """Connect the frame of a model to the model or world around it, and to its canonical link."""
    model, node, around = scope.content, scope.model, scope.around
    assert around is not None, "only the world has no surrounding frame"
    node.base = around.model
    node.offset = pose_value(model.pose, node.label, model.pose_notes)
    if model.pose is not None and (name := relative_to(model.pose, node.label, model.pose_notes)):
        node.base = around.frame(name, node, model.pose) or around.model
    canonical = model.element.attributes.get("canonical_link", "")
    first = next(_first_links(scope), None)
    node.attached = scope.frame(canonical, node, model.element) if canonical else first
    if model.placement:
        placed = scope.frame(model.placement, node, model.element)
        if placed is not None and placed is not node:
            node.offset = compose(node.offset, inverse_rotation(_pose_in(node, placed)))


def _first_links(scope: Scope) -> Iterator[FrameNode]:
    """The links of a model, or else those of the models inside it."""
    yield from scope.links
    for inner in scope.nested:
        yield from _first_links(inner)


def _pose_in(model: FrameNode, node: FrameNode) -> Pose:
    """The pose of a frame of a model in the model."""
    path = _path(node, model)
    if path is None:
        message = (
            f"{model.label}: the placement frame {quote_value(node.name)} has no pose in the model"
        )
        model.notes.error("sdf-frame", model.element, message, "check its relative_to")
        return HERE
    return _composed(path)


def _path(node: FrameNode, base: FrameNode, longest: int | None = None) -> list[FrameNode] | None:
    """The frames from a node to a base that it is relative to; None if it is not."""
    path: list[FrameNode] = []
    seen: set[int] = set()
    while node is not base:
        if id(node) in seen or node.base is None or len(path) == longest:
            return None
        seen.add(id(node))
        path.append(node)
        node = node.base
    return path


def _composed(path: list[FrameNode]) -> Pose:
    pose = HERE
    for k, node in enumerate(reversed(path)):
        pose = compose(pose, node.offset) if k else node.offset
    return pose


def pose_between(base: FrameNode, node: FrameNode) -> Pose:
    """The pose of a frame in another; without an inverse if it is given relative to the other."""
    path = _path(node, base, _SHORT_PATH)
    if path is not None:
        return _composed(path)
    back = _path(base, node, _SHORT_PATH)
    if back is not None:
        return inverse_rotation(_composed(back))
    return compose(inverse_rotation(pose_in_world(base)), pose_in_world(node))


def pose_in_world(node: FrameNode) -> Pose:
    """The pose of a frame in the world; frames that refer to each other in a cycle are an error."""
    path: list[FrameNode] = []
    seen: set[int] = set()
    while node.pose is None:
        if id(node) in seen or node.base is None:
            message = f"the pose of {node.label} is relative to itself through other frames"
            node.notes.error("sdf-frame", node.element, message, "remove one relative_to")
            node.pose = HERE
            break
        seen.add(id(node))
        path.append(node)
        node = node.base
    pose = node.pose
    for inner in reversed(path):
        if inner.pose is None:
            inner.pose = compose(pose, inner.offset)
        pose = inner.pose
    return pose


def link_of(node: FrameNode | None) -> FrameNode | None:
    """The link, or the world, that a frame is attached to; None if it is attached to none."""
    seen: dict[int, FrameNode] = {}
    while node is not None and node.kind not in ("link", "world"):
        if id(node) in seen:
            node = None
            break
        seen[id(node)] = node
        node = node.attached
    # the next search is short
    for frame in seen.values():
        frame.attached = node
    return node
