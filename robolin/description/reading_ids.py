"""Every finding id a reader can produce, with its level and what it means; docs list them."""

from __future__ import annotations

from robolin.description.model import Level

READING_IDS: dict[str, tuple[Level, str]] = {
    "cycle": ("error", "Joints connect links in a closed loop; an arm is a tree."),
    "duplicate-joint": ("error", "Two joints have the same name."),
    "duplicate-link": ("error", "Two links have the same name."),
    "joint-to-itself": ("error", "A joint has the same link as parent and as child."),
    "mimic-cycle": ("error", "Joints mimic each other in a circle, so none moves on its own."),
    "mimic-fixed": ("error", "A joint mimics one that has no single position (fixed, floating)."),
    "mimic-self": ("error", "A joint mimics itself."),
    "mimic-unknown": ("error", "A joint mimics one that is not in the file."),
    "no-links": ("error", "The file has no link at all."),
    "several-roots": ("error", "More than one link is no joint's child."),
    "two-parents": ("error", "A link is the child of two joints."),
    "unknown-link": ("error", "A joint names a link that is not in the file."),
}
