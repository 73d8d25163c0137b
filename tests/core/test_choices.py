"""Choices of options are defined once, and every table covers all of them."""

import pytest

from robolin.control import responses
from robolin.control.simulation import schedule
from robolin.core import choices
from robolin.display.plots import draw_panels as draw
from robolin.evaluation import loop_linear_algebra
from robolin.io.trajectories import trajectory
from robolin.queries import loop_answer, matrix_answers, simulate_result

TABLES = [
    (choices.REFERENCES, matrix_answers._AXES),
    (choices.LOOP_METHODS, loop_linear_algebra.LOOP_SOLVERS),
    (choices.LOOP_METHODS, loop_answer.TITLES),
    (choices.DISCRETIZATIONS, responses.DISCRETIZERS),
    (choices.INTEGRATORS, schedule.INTEGRATOR_NAMES),
    (choices.STATE_FORMS, simulate_result._VELOCITIES),
    (choices.TIME_UNITS, trajectory.PER_SECOND),
    (choices.PICTURE_FORMATS, draw._LEFT_OUT),
]


@pytest.mark.parametrize("words, table", TABLES)
def test_tables_have_an_entry_for_every_word(words, table):
    """Every choice of an option has an implementation, in the same order."""
    assert tuple(table) == words
