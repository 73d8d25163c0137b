"""Joint states that are read together are those that rosbags decodes one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from robolin.errors import RobolinError
from robolin.io.formats.joint_states import as_table, layout_of
from tests.ros_bags import STATE, Motion, as_joint_states

typesys: Any = pytest.importorskip("rosbags.typesys", reason="bags need rosbags")
NAMES = [("shoulder", "elbow"), ("a", "a_longer_name"), ("é", "x/y")]


@pytest.mark.parametrize("ros1", [False, True])
@pytest.mark.parametrize("joints", NAMES, ids=["usual", "uneven", "odd"])
def test_layout_matches_the_decoded_messages(joints, ros1):
    """Names, times and numbers of every message are those of rosbags' own types."""
    motion = replace(Motion.random(5), joints=joints)
    messages = [data for _, data in as_joint_states(motion, ros1)]
    layout = layout_of(messages[0], ros1, "")
    table = as_table(messages)
    stores = typesys.Stores
    store = typesys.get_typestore(stores.ROS1_NOETIC if ros1 else stores.ROS2_HUMBLE)
    decode = store.deserialize_ros1 if ros1 else store.deserialize_cdr
    decoded = [decode(data, STATE) for data in messages]
    assert layout.fits(table).all()
    assert list(layout.joints) == decoded[0].name
    assert layout.values(table, "q").tolist() == [each.position.tolist() for each in decoded]
    assert layout.values(table, "qd").tolist() == [each.velocity.tolist() for each in decoded]
    assert "tau" not in layout.numbers
    assert layout.stamps(table).tolist() == motion.time.tolist()


def test_bytes_between_numbers_may_be_anything():
    """Padding of aligned messages differs between writers and is ignored."""
    motion = Motion.random(2)
    clean, other = (bytearray(data) for _, data in as_joint_states(motion, False))
    layout = layout_of(bytes(clean), False, "")
    used = {i for begin, end in layout.constant for i in range(begin, end)}
    used |= set(range(layout.stamp, layout.stamp + 8))
    used |= {i for begin in layout.numbers.values() for i in range(begin, begin + 16)}
    gaps = [i for i in range(len(other)) if i not in used]
    assert gaps
    for i in gaps:
        other[i] = 0xAA
    table = as_table([bytes(clean), bytes(other)])
    assert layout.fits(table).all()
    assert layout.values(table, "q").tobytes() == motion.q.tobytes()


def test_a_layout_fits_only_its_joint_names():
    """A message whose names differ in one letter does not fit, though it is as long."""
    motion = Motion.random(1)
    others = [
        as_joint_states(replace(motion, joints=joints), False)[0][1]
        for joints in (("shoulder", "elbow"), ("shoulder", "elbox"), ("elbow", "shoulder"))
    ]
    layout = layout_of(others[0], False, "")
    assert [bool(layout.fits(as_table([each]))[0]) for each in others[:2]] == [True, False]


DAMAGE = [
    (lambda data: data[:20], "not a valid JointState"),
    (lambda data: b"\x00\x00" + data[2:], "must be little-endian CDR"),
    (lambda data: data[:12] + b"\xff\xff\xff\x7f" + data[16:], "entries"),
    (lambda data: data[:-4], "not a valid JointState"),
    (lambda data: data.replace(b"elbow\0", b"elb\xffw\0"), "not a valid JointState"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_message_is_named(change, message):
    """A truncated, byte-swapped or overlong message is rejected with its location."""
    data = as_joint_states(Motion.random(1), False)[0][1]
    with pytest.raises(RobolinError) as caught:
        layout_of(change(data), False, "m.mcap, message 1")
    assert "m.mcap, message 1" in str(caught.value)
    assert message in str(caught.value)
