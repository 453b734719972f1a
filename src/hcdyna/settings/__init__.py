"""Settings of a run: what can be said, and how it is checked, named, saved and read."""

from hcdyna.settings.core import CHOICES as CHOICES
from hcdyna.settings.core import Evaluation as Evaluation
from hcdyna.settings.core import PythonOnly as PythonOnly
from hcdyna.settings.core import Settings as Settings
from hcdyna.settings.core import Training as Training
from hcdyna.settings.core import agent_of as agent_of
from hcdyna.settings.core import built as built
from hcdyna.settings.core import evaluated_after as evaluated_after
from hcdyna.settings.core import evaluations_until as evaluations_until
from hcdyna.settings.core import part_of as part_of
from hcdyna.settings.core import traced_numbers as traced_numbers
from hcdyna.settings.core import with_numbers as with_numbers
from hcdyna.settings.fields import check as check
from hcdyna.settings.fields import check_hidden as check_hidden
from hcdyna.settings.fields import later as later
from hcdyna.settings.fields import number as number
