"""Write a robot file with other inertial and joint parameters: edited in place.

Comments, order, meshes and all other elements stay as they are.  The difference of every moving
link, which includes the links that are fixed to it, goes into the link itself.  The text is read
again before it is returned, so a file that would not give the new arm is never written.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from math import nan
from pathlib import Path
from typing import Protocol

from robolin.core.arm import Arm, Inertia, Joint, Link
from robolin.core.arm_parts import inverse_rotation, merged_inertia, placed
from robolin.core.records import dataclass
from robolin.core.text import join_and
from robolin.description.building.keywords import ModelOptions
from robolin.description.model import Description, Reading
from robolin.description.robot_source import RobotText, Source, format_of_text, robot_text
from robolin.description.validate import possible_inertia
from robolin.errors import RobolinError, UsageError

# extensions of a corrected file, by the format of the robot file
CORRECTED_EXTENSIONS: Mapping[str, tuple[str, ...]] = {
    "urdf": (".urdf", ".xml"),
    "xacro": (".urdf", ".xml"),
    "mjcf": (".xml", ".mjcf"),
    "sdf": (".sdf", ".world"),
    "yaml": (".yaml", ".yml"),
}
# part of the largest value of its kind that a value may differ after reading the file again
_SAME = 1e-12


class RobotFileEditor(Protocol):
    """A robot file that values are written into."""

    @property
    def missing_hint(self) -> str:
        """Hint for a link or joint that is not written in the file."""

    @property
    def mismatch_hint(self) -> str:
        """Hint for values that the file would change."""

    @property
    def links(self) -> Collection[str]:
        """Names of the links that are written in the file."""

    @property
    def joints(self) -> Collection[str]:
        """Names of the joints that are written in the file."""

    @property
    def relative_files(self) -> Sequence[str]:
        """Other files, named relative to the folder of the file."""

    def set_body(self, link: str, body: Inertia) -> None:
        """Set the inertia of a link, in its own frame."""

    def set_joint(self, name: str, old: Joint, new: Joint) -> bool:
        """Set damping, friction and armature; False if the file has no place for armature."""

    def result(self, remarks: Sequence[str]) -> bytes:
        """The text, with a comment at the end."""


@dataclass(frozen=True)
class CorrectedFile:
    """The text of a corrected file, and what belongs to it.

    armature: joint -> armature that the format cannot hold
    notes:    remarks about the text
    """

    text: bytes
    armature: Mapping[str, float]
    notes: tuple[str, ...] = ()

    @property
    def armature_notes(self) -> Iterator[str]:
        """The flag for armature that the format cannot hold, in few digits."""
        sizable = {name: value for name, value in self.armature.items() if abs(value) > 1e-9}
        if sizable:
            values = ",".join(f"{name}={value:.6g}" for name, value in sizable.items())
            yield (
                f"to apply the armature, add --armature {values} (the end of the file lists all "
                "digits)"
            )


def corrected_file(
    robot: RobotText,
    description: Description,
    options: ModelOptions,
    before: Arm,
    after: Arm,
    output: Path,
    remarks: Sequence[str] = (),
) -> CorrectedFile:
    """The text of a robot file with the values of another arm, in the format of the file.

    description: of the robot file
    options: with which both arms were built
    output:  path of the corrected file; names of other files are relative to its folder
    remarks: lines of a comment at the end, about values that the format cannot hold

    Raises:
        RobolinError: values that have no place in the file, or that settings of it would change
    """
    text, kind, notes = robot.text, robot.kind, []
    # a URDF with macros in it was expanded by its reader
    if kind == "xacro" or (kind == "urdf" and description.digest != sha256(text).hexdigest()):
        text, kind = _expanded(robot, options)
        notes.append(f"{robot.shown} is expanded: macros and arguments are replaced by values")
    editor = _editor(text, kind, robot.shown, description.name)
    notes += _moved(editor, kind, robot, output)
    armature = _Change(editor, description, options, before, after).write()
    lines = [*remarks, *_armature_remark(armature)]
    result = editor.result(lines)
    written = set(_changed_armature(before, after)) - set(armature)
    kept = {name: value for name, value in options.armature.items() if name not in written}
    own = friction_velocities_of(after)
    checked = replace(
        options,
        armature={**kept, **armature},
        damping=after.damping,
        friction_velocity=None if kind == "yaml" and own else own or after.friction_velocity,
        xacro_args={},
        packages=options.packages if kind in ("sdf", "mjcf") else {},
        srdf=None,
        strict=False,
    )
    _require_same(_read_again(result, kind, robot, output, checked), after, editor, robot.shown)
    return CorrectedFile(result, armature, tuple(notes))


def file_digests(source: Source, reading: Reading) -> dict[str, str]:
    """SHA-256 of a robot file and of all files that it includes, by name; '' if one is missing."""
    robot = robot_text(source)
    digests = {robot.shown: sha256(robot.text).hexdigest()}
    for file in reading.files:
        path = Path(file)
        digests[file] = sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return digests


def require_same_robot_files(source: Source, reading: Reading, before: Mapping[str, str]) -> None:
    """Reject robot files that changed after they were read: old and new values would mix."""
    now = file_digests(source, reading)
    for name, digest in before.items():
        if now.get(name) != digest:
            message = "changed while the fit was running; nothing is written"
            raise RobolinError(message, where=name, hint="run the command again")


def require_extension(output: str, robot: RobotText) -> None:
    """Reject an output whose extension is not that of the robot file's format."""
    known = CORRECTED_EXTENSIONS[robot.kind]
    suffix = Path(output).suffix.lower()
    if suffix in known:
        return
    hint = f"use -o {Path(output).stem or 'corrected'}{known[0]}"
    if robot.kind == "xacro":
        hint += ": robolin cannot edit xacro macros and corrects the expanded file instead"
    message = f"the extension must be {known[0]} for a {robot.kind} file, got '{suffix}'"
    raise UsageError(message, where=output, hint=hint)


def _editor(text: bytes, kind: str, shown: str, name: str) -> RobotFileEditor:
    if kind == "yaml":
        from robolin.description.yaml.yaml_corrected import YamlEditor

        return YamlEditor(text, shown)
    if kind == "mjcf":
        from robolin.description.xml_corrected import MjcfEditor

        return MjcfEditor(text, shown)
    if kind == "sdf":
        from robolin.description.xml_corrected import SdfEditor

        return SdfEditor(text, shown, name)
    from robolin.description.xml_corrected import UrdfEditor

    return UrdfEditor(text, shown)


def _expanded(robot: RobotText, options: ModelOptions) -> tuple[bytes, str]:
    from robolin.description.xacro.xacro_text import expanded_xacro

    assert robot.path is not None, "a xacro file has a path"
    text = expanded_xacro(robot.path, options.xacro_args, options.packages).text
    return text, "sdf" if format_of_text(text) == "sdf" else "urdf"


def _moved(editor: RobotFileEditor, kind: str, robot: RobotText, output: Path) -> Iterator[str]:
    """Notes on other files, whose names are relative to the folder of the robot file."""
    if robot.path is None or not editor.relative_files:
        return
    home = robot.path.absolute().parent
    if os.path.realpath(home) == os.path.realpath(output.absolute().parent):
        return
    first = editor.relative_files[0]
    message = f"'{first}' in {robot.shown} is relative to the folder {home}"
    if kind == "mjcf":
        hint = f"write the corrected file there: -o {home / output.name}"
        raise UsageError(message, where=str(output), hint=hint)
    yield f"{message}: to keep the path valid, copy the corrected file to that folder"


@dataclass(frozen=True)
class _Change:
    """The change from one arm to another, as values of links and joints of a file."""

    editor: RobotFileEditor
    description: Description
    options: ModelOptions
    before: Arm
    after: Arm

    def write(self) -> dict[str, float]:
        """Write all changes; return the armature that has no place in the file."""
        for old, new in zip(self.before.links, self.after.links, strict=True):
            if old.inertia != new.inertia:
                name = self._carrier(old)
                self.editor.set_body(name, self._own_part(name, old, new.inertia))
        armature: dict[str, float] = {}
        for name, pairs in self._changed_joints().items():
            if not self.editor.set_joint(name, *_one_value(name, pairs)):
                armature |= {
                    new.name: new.armature for old, new in pairs if old.armature != new.armature
                }
        # a fit leaves traces of armature on its bounds
        least = _SAME * max((joint.armature for joint in self.after.joints), default=0.0)
        base = {link.joint.name: link.joint.armature for link in self.before.links}
        return {k: v for k, v in armature.items() if v > least or base[k] > least}

    def _carrier(self, link: Link) -> str:
        """The link of the file that gets the difference: the moving one, or the body fixed to it.

        Readers add massless links for joints that are not at the origin of a body.
        """
        for name in (link.name, *link.merged):
            if name in self.editor.links:
                return name
        raise RobolinError(
            f"link '{link.name}' is not in the file, but its inertia would change",
            where=self.description.source,
            hint=self.editor.missing_hint,
        )

    def _own_part(self, name: str, link: Link, new: Inertia) -> Inertia:
        """The inertia of one link of the file, in its own frame: own + new - old."""
        own = next(each.inertia for each in self.description.links if each.name == name)
        pose, old = self.before.frames[name].pose, link.inertia
        here = placed(own or Inertia(), pose)
        body = new
        if here != old:
            xx, xy, xz, yy, yz, zz = (0.0 - x for x in old.rotary)
            less = Inertia(-old.mass, old.com, (xx, xy, xz, yy, yz, zz))
            try:
                body = merged_inertia([here, new, less])
            except ZeroDivisionError:
                body = Inertia(0.0)
        if not (body.mass > 0.0 and possible_inertia(body.rotary)):
            self._reject_impossible(name, link, body)
        return placed(body, inverse_rotation(pose))

    def _reject_impossible(self, name: str, link: Link, body: Inertia) -> None:
        """Raise an error if other bodies leave an impossible one; a fit gives no other cause."""
        others = {each for each in (link.name, *link.merged) if each != name}
        heavy = [
            each.name
            for each in self.description.links
            if each.name in others and each.inertia and each.inertia.mass > 0.0
        ]
        heavy += ["--payload" for each in self.options.payload if each.frame in (name, *others)]
        if heavy:
            quantity = "inertia" if body.mass > 0.0 else "mass"
            raise RobolinError(
                f"the identified {quantity} of link '{name}' and its fixed links is less than the "
                f"{quantity} of {join_and(heavy)}",
                hint="remove from the robot file the fixed links that were not mounted, "
                "and identify again",
            )

    def _changed_joints(self) -> dict[str, list[tuple[Joint, Joint]]]:
        """Joints of the file with new values; one of them may have several coordinates."""
        changed: dict[str, list[tuple[Joint, Joint]]] = {}
        for old, new in zip(self.before.links, self.after.links, strict=True):
            if old.joint == new.joint:
                continue
            names = (new.joint.name, new.joint.name.rpartition(":")[0])
            name = next((each for each in names if each in self.editor.joints), None)
            if name is None:
                raise RobolinError(
                    f"joint '{new.joint.name}' is not in the file, but its values would change",
                    where=self.description.source,
                    hint=self.editor.missing_hint,
                )
            changed.setdefault(name, []).append((old.joint, new.joint))
        return changed


def _one_value(name: str, pairs: Sequence[tuple[Joint, Joint]]) -> tuple[Joint, Joint]:
    """The old and new values of a joint of the file, which has one value for all coordinates."""
    values = {(n.damping, n.friction_sides, n.friction_velocity, n.armature) for _, n in pairs}
    if len(values) > 1:
        message = (
            f"joint '{name}' has one damping and one friction value in the file, but the fit has "
        )
        raise RobolinError(
            f"{message}{len(values)} different values",
            hint="use --npz, or write one joint per coordinate in the robot file",
        )
    return pairs[0]


def friction_velocities_of(arm: Arm) -> dict[str, float]:
    """Friction velocities of the joints that have their own."""
    joints = (link.joint for link in arm.links)
    return {j.name: j.friction_velocity for j in joints if j.friction_velocity is not None}


def _changed_armature(before: Arm, after: Arm) -> Iterator[str]:
    for old, new in zip(before.links, after.links, strict=True):
        if old.joint.armature != new.joint.armature:
            yield new.joint.name


def _armature_remark(armature: Mapping[str, float]) -> Iterator[str]:
    if armature:
        values = ",".join(f"{name}={value!r}" for name, value in armature.items())
        yield f"to apply the armature, add --armature {values}"


def _read_again(
    text: bytes, kind: str, robot: RobotText, output: Path, options: ModelOptions
) -> Arm:
    """The arm in a corrected text; formats that include files are read next to the output."""
    from robolin.description.load import load_with

    if kind not in ("mjcf", "sdf"):
        return load_with(text, options)
    name = f".robolin-{os.getpid()}-{output.stem}{output.suffix}"
    path = output.absolute().with_name(name)
    try:
        doing = "written"
        path.write_bytes(text)
        doing = "read again"
        return load_with(f"{path}:{robot.part}" if robot.part else path, options)
    except OSError as error:
        message = f"cannot be {doing}: {error.strerror or error}"
        raise RobolinError(message, where=str(output)) from error
    finally:
        path.unlink(missing_ok=True)


def _require_same(again: Arm, after: Arm, editor: RobotFileEditor, shown: str) -> None:
    """Reject a text that does not give the values of the new arm."""
    written, expected = _values(again), _values(after)
    largest: dict[str, float] = {}
    for label, value in expected.items():
        largest[_kind(label)] = max(largest.get(_kind(label), 0.0), abs(value))
    for label, value in expected.items():
        read = written.get(label, nan)
        if not abs(read - value) <= _SAME * largest[_kind(label)]:
            message = f"{label} would be {read:.6g} in the corrected file, not {value:.6g}"
            hint = editor.mismatch_hint
            raise RobolinError(f"{message}; nothing is written", where=shown, hint=hint)


def _values(arm: Arm) -> dict[str, float]:
    """All parameters by name; friction has two directions, also where both are equal."""
    from robolin.core.arm_parameters import parameters

    values = {x.label: x.value for x in parameters(arm) if not x.name.startswith("friction")}
    for link in arm.links if arm.friction_velocity is not None else ():
        positive, negative = link.joint.friction_sides
        values[f"{link.joint.name}/friction"] = positive
        values[f"{link.joint.name}/friction at negative velocities"] = negative
        velocity = link.joint.friction_velocity or arm.friction_velocity or nan
        values[f"{link.joint.name}/friction velocity"] = velocity
    return values


def _kind(label: str) -> str:
    """Kind of a parameter; mass and first moments are one kind, and all inertias are one."""
    name = label.rpartition("/")[2]
    return name[:1] if name[:1] in ("m", "i") else name
