"""The module ``urllib2``."""

from __future__ import annotations

from urllib.error import *
from urllib.parse import quote as quote
from urllib.parse import unquote as unquote
from urllib.request import *
