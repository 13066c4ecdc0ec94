"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab.expectations.answers import Answer as Answer, answer as answer
from pcielab.expectations.asking import Asked as Asked, questions_of as questions_of
from pcielab.expectations.checking import Check as Check, checked_output as checked_output
from pcielab.expectations.expecting import (
    Expectation as Expectation,
    Expectations as Expectations,
    expect as expect,
)
from pcielab.expectations.gates import THRESHOLDS as THRESHOLDS, thresholds as thresholds
from pcielab.expectations.judging import (
    Score as Score,
    Verdict as Verdict,
    described as described,
    judged as judged,
    scores as scores,
)
from pcielab.expectations.machine import Machine as Machine
from pcielab.expectations.questions import KINDS as KINDS, Question as Question, read_question as read_question
from pcielab.expectations.reading import read as read
from pcielab.expectations.tables import BoxRow as BoxRow, box as box, box_names as box_names, box_rows as box_rows
