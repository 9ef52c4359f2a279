"""The settings, by their old place."""

from clsviz.settings import *  # noqa: F403
from clsviz.settings import SETTINGS

CHOICES = {row.name: row.values for row in SETTINGS.values() if row.values}
RANGES = {row.name: row.ends for row in SETTINGS.values() if row.ends}
