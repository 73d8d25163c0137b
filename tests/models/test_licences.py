"""Every bundled work has its licence text in the package."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = ROOT / "LICENSES"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# licence in a header -> the SPDX identifier of its row
NO_LICENCE = ("none needed", "published measurements")
STATED = {"CC BY-SA 4.0": "CC-BY-SA-4.0", "BSD, as stated": "BSD-3-Clause"}
# the last words of each standard text, which a shortened copy lacks
LAST_WORDS = {
    "Apache-2.0": "See the License for the specific language governing permissions and\n"
    "   limitations under the License.",
    "BSD-2-Clause": "EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.",
    "BSD-3-Clause": "EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.",
    "CC-BY-SA-4.0": "Creative Commons may be contacted at creativecommons.org.",
    "MIT": "THE SOFTWARE.",
}


def rows() -> dict[str, tuple[str, str]]:
    """Licence and copyright of every file in the table, by its path."""
    by_name = {}
    for line in (TEXTS / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 4 and (licence := re.match(r"\[(.+?)\]\((.+?)\.txt\)", cells[1])):
            assert licence[1] == licence[2]
            for file in re.findall("`(.+?)`", cells[0]):
                by_name[file] = (licence[1], cells[3])
    return by_name


@pytest.mark.parametrize("path", sorted((ROOT / "models").iterdir()), ids=lambda path: path.name)
def test_the_licence_of_a_model_is_in_the_package(path: Path) -> None:
    """The licence in the header of a model is that of its row, whose text is complete."""
    stated = re.search(r"^[#\s]*licence: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert stated
    if stated[1].startswith(NO_LICENCE):
        assert f"models/{path.name}" not in rows()
        return
    licence, holder = rows()[f"models/{path.name}"]
    known = next((spdx for text, spdx in STATED.items() if stated[1].startswith(text)), "")
    assert licence == (known or re.split(r"[ ,]", stated[1])[0])
    assert holder
    text = (TEXTS / f"{licence}.txt").read_text(encoding="utf-8")
    assert LAST_WORDS[licence] in text
    if licence.startswith("BSD"):
        assert f"models/{path.name}" in text


def test_files_in_the_table_are_there() -> None:
    """Each row names files of the package."""
    assert all((ROOT / file).is_file() for file in rows())


def test_the_expression_names_every_licence() -> None:
    """The SPDX expression of the package is that of robolin and of the bundled works."""
    named = PROJECT["license"].split(" AND ")
    assert named[0] == "BSD-3-Clause"
    assert sorted(named) == sorted({"BSD-3-Clause", *(licence for licence, _ in rows().values())})
    assert sorted(named) == sorted(LAST_WORDS)


def test_the_notice_of_an_apache_work_is_kept() -> None:
    """Section 4(d) of the Apache licence: the NOTICE of franka_ros is included."""
    notice = (TEXTS / "NOTICE-franka_ros.txt").read_text(encoding="utf-8")
    assert "Copyright 2023 Franka Robotics GmbH" in notice


@pytest.mark.skipif(
    not Path("/usr/share/common-licenses/Apache-2.0").is_file(), reason="Debian's texts are absent"
)
def test_the_apache_licence_is_the_published_one() -> None:
    """The text is that of the Apache Software Foundation, byte for byte."""
    published = Path("/usr/share/common-licenses/Apache-2.0").read_bytes()
    assert (TEXTS / "Apache-2.0.txt").read_bytes() == published


@pytest.mark.slow
def test_a_wheel_contains_all_licences(tmp_path: Path) -> None:
    """A wheel that is built from the sources has every text, and says so in its metadata."""
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    assert f"License-Expression: {PROJECT['license']}" in lines
    folder = metadata.replace("METADATA", "licenses")
    for file in ("LICENSE", *(f"LICENSES/{path.name}" for path in TEXTS.iterdir())):
        assert f"{folder}/{file}" in names
        assert f"License-File: {file}" in lines
    for path in (ROOT / "models").iterdir():
        assert f"robolin/models/{path.name}" in names
