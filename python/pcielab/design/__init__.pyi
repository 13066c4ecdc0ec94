"""Names of the package, loaded at first use: `pcielab.on_demand` reads this file."""

from pcielab.design.answer import Design as Design, Level as Level, Reached as Reached
from pcielab.design.attacks import Corner as Corner
from pcielab.design.corners import attack as attack
from pcielab.design.problem import Problem as Problem, load_problem as load_problem
from pcielab.design.solving import design as design
