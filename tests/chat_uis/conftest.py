"""The browser of the page's tests."""

from tests.web.conftest import browser

__all__ = ["browser"]
